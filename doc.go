// Package pinwheel is the root of a local cache and a timing wheel for Go
// services. It has no code of its own; import what you need:
//
//   - [github.com/pinwheel-cache/pinwheel/cache], a sharded cache with a limit, a
//     TTL per entry, one load per key at a time, and removal events;
//   - [github.com/pinwheel-cache/pinwheel/timingwheel], the wheel on which
//     entries expire;
//   - [github.com/pinwheel-cache/pinwheel/lru], the order in which they are
//     evicted;
//   - [github.com/pinwheel-cache/pinwheel/stats], what all caches of a process
//     did, as a value and over HTTP;
//   - [github.com/pinwheel-cache/pinwheel/near], which keeps the caches of all
//     instances of a service true to one store.
//
// The modules gozero, otel, prometheus, near/redis and near/gozero connect them with go-zero,
// OpenTelemetry, Prometheus and Redis; the command cmd/cachesim recommends a limit.
package pinwheel
