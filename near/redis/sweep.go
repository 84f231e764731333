package redis

import (
	"context"
	"math/rand/v2"
	"time"
)

// A sweep removes watches that make no beats from the hash of a fleet: those of instances that were
// killed. It looks at the hash twice. Who has made no beat in between, for twice its MaxLag, vouches
// for nothing any more, and for what it had loaded before neither; if it lives, its next beat tells
// it that it is not known.
type sweep struct {
	next time.Time
	seen map[string]string // by the first look, or nil
	by   time.Time         // when that was answered
}

// step makes a part of a sweep, if it is time: one instance of the fleet begins one every second.
func (s *sweep) step(ctx context.Context, r *Redis) {
	now := time.Now()
	switch {
	case s.seen == nil && now.After(s.next):
		fields, err := r.fleetFields(ctx)
		if err == nil {
			s.seen, s.by = fields, time.Now()
		}
	case s.seen != nil && now.Sub(s.by) >= 2*longest(s.seen):
		for field := range watchesOf(s.seen) {
			if ctx.Err() != nil {
				return
			}
			_ = r.removeWatch(ctx, field, s.seen[field]) // only if it is unchanged; else a later sweep will
		}
		s.next = now.Add(time.Duration((0.5 + rand.Float64()) * float64(len(s.seen)) * float64(time.Second)))
		s.seen = nil
	}
}

// longest returns the longest MaxLag in a hash.
func longest(fields map[string]string) (most time.Duration) {
	for _, maxLag := range watchesOf(fields) {
		most = max(most, maxLag)
	}
	return most
}
