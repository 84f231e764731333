// Cachesim replays the accesses of a service, and prints the hit ratio of a cache for
// each policy and limit, and which limit to take.
//
//	go install github.com/pinwheel-cache/pinwheel/cmd/cachesim@latest
//	cachesim -regexp '"GET (\S+)' -rate 2000 -latency 3ms access.log.*.gz
//
// The README describes its input and output, and how accurate the results are.
//
// A replay uses [github.com/pinwheel-cache/pinwheel/cache.Cache] itself and not the
// order of package lru alone. So the results include the effects of the cache's shards,
// shared budget, weights and hash, and there is no second implementation that could
// differ. Only the time is the trace's: a player removes what expires (see player).
package main
