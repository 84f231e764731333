// Package suites runs the tests of other libraries against what takes their place here: the
// standard library's for timers and tickers, go-zero's for its cache in Redis, and sturdyc's
// and otter's of loads.
//
//	go test ./suites                    # with -short for the foreign tests
//	go test -race ./suites -suites.long # all of each, and the race detector for them too
//
// Each suite has an adapter, a package below adapters/ that implements the names that the
// tests use with this library. The test files come from the Go installation and the module
// cache, and go test sees them beside the adapter through its -overlay flag: none is
// copied into the repository. In the overlay, imports of the original become imports of
// the adapter, some functions are left out, and some tests run in a bubble of
// testing/synctest. Line numbers stay the same.
//
// expected.txt, beside the adapter, names each test that must fail, is left out or runs in
// a bubble, with the reason; a * stands for all tests, which may run in bubbles. The run
// fails when a test fails that is not listed, when a listed one passes, when a test does not
// end, and on any data race.
package suites
