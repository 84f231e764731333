package relay_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// TestRevokeOverARelay checks that a revocation passes through, also to what an age would allow, and that
// an instance is listed with the MaxLag of its cache, not with half of it, as the source asks.
func TestRevokeOverARelay(t *testing.T) {
	t.Parallel()
	s := server(t)
	r, err := redis.New(t.Context(), redis.Options{
		Client: rueidis.ClientOption{InitAddress: []string{s.Addr}}, Prefixes: []string{prefix}, Relay: name, Fleet: "shop",
	})
	check(t, err)
	t.Cleanup(r.Close)
	o := over(t, r)
	told := &revoked{Recorder: neartest.NewRecorder(maxLag)}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { o.Watch(ctx, told); close(done) }()
	defer func() { stop(); <-done }()
	told.Await(t, "the beginning", func() bool { return told.Alls > 0 })
	for answered := false; !answered; { // later it is sure that the list is whole
		how, err := o.Revoke(t.Context(), prefix+"1")
		check(t, err)
		answered = how == near.Revocation{Instances: 1}
	}
	told.Lock()
	if len(told.revoked) == 0 || told.revoked[0] != prefix+"1" {
		t.Errorf("revoked %q", told.revoked)
	}
	told.Unlock()
	fields, err := s.Do("HGETALL", "pinwheel:fleet:shop")
	check(t, err)
	hash, err := fields.AsStrMap()
	check(t, err)
	for field, beat := range hash {
		if strings.HasPrefix(field, "watch:") && !strings.HasPrefix(beat, "300000 ") {
			t.Errorf("%s: %q, want it to serve for %v", field, beat, maxLag)
		}
	}
	mark, err := o.Mark(t.Context())
	check(t, err)
	if moment, ok := o.Moment(mark); !ok || moment.After(time.Now()) {
		t.Errorf("the moment of %q: %v, %v", mark, moment, ok)
	}
}

type revoked struct {
	*neartest.Recorder
	revoked []string
}

func (r *revoked) Revoked(keys ...string) {
	r.Note(func() { r.revoked = append(r.revoked, keys...) })
}
