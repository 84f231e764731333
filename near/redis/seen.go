package redis

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A seen has what was seen of the servers, for the statistics.
type seen struct {
	roundTrip atomic.Int64 // nanoseconds of the last question
	restored  atomic.Uint64
	notified  atomic.Bool // a server does not track, so its keyspace notifications tell of changes

	mu   sync.Mutex
	runs map[string]string // run ids by address
}

// server looks whether a server has been started since it was seen last, with values from a
// snapshot: then those that were removed after it was saved are back. With an append-only file
// it keeps removals.
func (s *seen) server(ctx context.Context, n *node, timeout time.Duration) error {
	replies, err := n.do(ctx, timeout, []string{"INFO", "persistence"})
	if err != nil {
		return err
	}
	info, err := replies[0].ToString()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.runs[n.addr]
	if s.runs == nil {
		s.runs = map[string]string{}
	}
	s.runs[n.addr] = n.run
	// The number of keys is told since Redis 7.0.
	loaded := infoField(info, "rdb_last_load_keys_loaded")
	if known && n.run != before && loaded != "" && loaded != "0" && infoField(info, "aof_enabled") == "0" {
		s.restored.Add(1)
	}
	return nil
}

// members notes how the servers of a session tell of changes.
func (s *seen) members(members []*member) {
	notified := slices.ContainsFunc(members, func(m *member) bool { return m.keyspace != nil })
	if s.notified.Swap(notified) != notified && notified {
		slog.Warn("near/redis: Redis refuses CLIENT TRACKING, so its keyspace notifications tell of changes: FLUSHALL is noticed later, each write of the server costs a message, and nothing is served from memory while it refuses writes")
	}
}

// Report sets RoundTrip, Restored and Notified.
func (r *Redis) Report(n *stats.Near) {
	n.RoundTrip = time.Duration(r.seen.roundTrip.Load())
	n.Restored = r.seen.restored.Load()
	n.Notified = r.seen.notified.Load()
}
