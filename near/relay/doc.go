// Package relay keeps what a fleet has in a store, such as Redis, true to a database, whoever writes that. One instance of
// the fleet at a time, by [Run], reads the changes of the database and removes their keys from the store; so every near
// cache over the store hears of them, and so do other programs that have copies there. A near.Cache over a [Follower]
// promises its MaxLag against the database.
//
//	go relay.Run(ctx, changes, shared, relay.Options{}) // until ctx ends
//	truth := relay.Follow(changes, shared, shared)
//	users, err := near.New(truth, truth, near.Options[int64, User]{Prefix: "user:", MaxLag: time.Second})
//
// The changes are those of near/postgres, the shared store that of near/redis.
//
// # Why no clocks are compared
//
// The relay works in rounds. It writes to the store that round n has begun, then asks the database what has changed,
// removes those keys, and then writes that round n has ended. An instance reads that now and then. Say that at q it asks,
// and is told that n was the last round to begin; and that later it is told that a round after n has ended. That round
// began after q, so it has removed all that was committed before q. When the source has then vouched for a moment after
// the second answer, the instance has heard of all these removals: q is a moment of its own clock for which it can vouch.
//
// Any number of relays may run at once: all that they do may be done twice. One leads, as more would only cost.
package relay
