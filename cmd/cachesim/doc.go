// Cachesim replays the accesses of a service, and prints the hit ratio of a cache for
// each policy and limit, and which limit to take.
//
//	go install github.com/pinwheel-cache/pinwheel/cmd/cachesim@latest
//	cachesim -regexp '"GET (\S+)' -rate 2000 -latency 3ms access.log.*.gz
//
// The README describes its input and output, and how accurate the results are.
//
// A replay uses [github.com/pinwheel-cache/pinwheel/cache.Cache] itself. So the results
// include the effects of its shards, budget, weights and hash, and no second
// implementation can differ. Only the time is that of the trace: a player removes what
// expires (see player).
package main
