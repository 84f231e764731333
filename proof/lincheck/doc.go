// Package lincheck tests whether a cache behaves, to the goroutines that share it,
// as if its operations happened one after the other. It has a few goroutines use a
// [Subject], notes what each operation was asked and answered, and when it began and
// ended, and asks porcupine whether there is an order of the operations that explains
// all answers: each operation at one moment between its call and its return.
//
// What a cache may do of its own accord is in [Promises]. In a cache that evicts, an
// entry may be gone at any moment; in one with TTLs, from its deadline on. But then it
// stays gone, and no read may find what was overwritten, removed, or is past its
// deadline. A key is checked by itself, since no operation promises anything about two
// keys together; Clear is one removal for each of them.
//
// A cache that refreshes values in the background is a [Subject] that is Detached: its loads
// are operations of their own, beside those of the clients.
//
// [Run] ends with the first history that nothing explains. A [Survey] goes on, and says what
// the cache would have to be excused for: see [Faults].
//
// The same seed leads to the same operations, but not to the same history, for the
// scheduler takes part. So a run that found nothing proves nothing; it may be repeated
// for as long as one likes.
package lincheck
