// Package pairs lets the features of a cache meet: every option with every other, and every
// method in every function of the user, with every context that one can have there.
//
// A round makes a cache with options drawn at random. Some goroutines of a program call its
// methods, at moments drawn at random. The cache calls the functions of the user: a fetch,
// OnRemove, OnRemoveSync, Weigh, Negative, the functions of DelFunc and Compute, the encoding of
// Save and Restore, the body of a loop. Each of them is an [actor], who calls methods too, sleeps,
// returns an error, panics or calls Goexit. What they may not do is in rules.go; all else
// the documents allow.
//
// A round runs in the fake time of testing/synctest. So a promise about time is checked to
// the nanosecond, on a machine of any speed, and a wait that nobody can end is noticed at
// once. Rounds run in a process of their own, as a panic in a goroutine of the cache ends
// it; a second one notices, and names the seed.
//
// What an actor does depends on the seed of the round, and on the actor's place in it, not
// on the order in which goroutines run. So a seed replays a round, but for goroutines that
// wake up at the same moment.
package pairs
