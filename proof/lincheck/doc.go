// Package lincheck tests whether a cache is linearizable: whether it behaves, to the
// goroutines that share it, as if its operations happened one after the other. A few
// goroutines use a [Subject]. The package records the arguments, the answer and the times of
// each operation, and asks porcupine for an order that explains all answers: each operation
// at one moment between its call and its return.
//
// [Promises] says what a cache may do by itself. In a cache that evicts, an entry may be gone
// at any moment; in one with TTLs, from its deadline on. But then it stays gone, and no read
// may find a value that was overwritten, removed, or is past its deadline. Each key is
// checked alone, as no operation promises anything about two keys together; Clear is one
// removal for each of them.
//
// A cache that refreshes values in the background is a Detached [Subject]: its loads are
// operations of their own, besides those of the clients.
//
// [Run] ends with the first history that no order explains.
//
// The same seed gives the same operations, but not the same history, which depends on the
// scheduler too. So a run that finds nothing proves nothing: run it for longer.
package lincheck
