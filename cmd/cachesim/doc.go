// Cachesim reads what a service was asked for, and says what a cache would have answered
// with each policy and limit, and which limit to take.
//
//	go install github.com/pinwheel-cache/pinwheel/cmd/cachesim@latest
//	cachesim -regexp '"GET (\S+)' -rate 2000 -latency 3ms access.log.*.gz
//
// The README has what it reads and prints, and how far it is to be believed.
//
// A replay goes through [github.com/pinwheel-cache/pinwheel/cache.Cache] itself and not
// through the order of package lru alone: then what is printed is what the cache
// reaches, also with its shards, its one budget, weights and hash, and there is no second
// implementation that could differ. Only time is not the cache's but the trace's: a
// player removes what expires (see player).
package main
