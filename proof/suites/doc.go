// Package suites runs the tests of other libraries against this one: those of the
// standard library for timers, tickers, contexts and sync.Map, those of go-cache,
// golang-lru and singleflight, and of go-zero's cache in Redis.
//
//	go test ./suites                    # with -short for the foreign tests
//	go test -race ./suites -suites.long # all of each, and the race detector for them too
//
// Below adapters/ is a package for each suite. It has the names that the tests use, on
// top of this library. The test files are read from the Go installation and the module
// cache, and go test sees them beside the adapter by way of its -overlay flag: none is
// copied into the repository. What is changed on the way are import paths, so that a
// test gets the adapter where it asked for the original; functions that are left out; and
// tests that are put into a bubble of testing/synctest. Lines keep their numbers.
//
// Beside the adapter is expected.txt, which names each test that is to fail, is left out
// or is put into a bubble, with the reason. A test that fails and is not named fails the
// run, as does one that is named and passes, a test that did not end, and any data race.
package suites
