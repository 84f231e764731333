// Package pinwheel is the root of a local cache and a timing wheel for Go
// services. It has no code of its own; import what you need:
//
//   - [github.com/pinwheel-cache/pinwheel/cache], a sharded cache with a limit, a
//     TTL per entry, loading with one flight per key, and removal events;
//   - [github.com/pinwheel-cache/pinwheel/timingwheel], the wheel on which
//     entries expire;
//   - [github.com/pinwheel-cache/pinwheel/lru], the order in which they are
//     evicted;
//   - [github.com/pinwheel-cache/pinwheel/stats], what all caches of a process
//     did, as a value and over HTTP.
//
// Modules of their own are near, caches of all instances that one store keeps true; gozero,
// settings and a drop-in for go-zero; otel, metrics for OpenTelemetry; and cmd/cachesim, which
// tells from a log what limit a cache needs.
package pinwheel
