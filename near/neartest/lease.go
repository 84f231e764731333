package neartest

import (
	"cmp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A lease is for one caller, whom Get and Lease name to others; Lease is Get for all that is there. Fill stores if the
// token is that of the lease.
func (s *trial) leaseIsForOne() {
	keys := s.keys("value", "free", "absent")
	free := strings.TrimPrefix(keys[1], s.Prefix)
	s.set("value", found("v"))
	s.set(strings.TrimPrefix(keys[2], s.Prefix), near.Item{State: near.Absent})
	var holders atomic.Int32
	var callers sync.WaitGroup
	var mu sync.Mutex
	tokens := map[string]bool{}
	for range 30 {
		callers.Go(func() {
			items, err := s.leaser.Lease(s.ctx, time.Hour, keys...)
			if err != nil || !same(items[0], found("v")) || items[1].Token == "" || items[2].State != near.Absent {
				s.t.Errorf("Lease returns %+v, %v", items, err)
				return
			}
			if items[1].State == near.Missing {
				holders.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			tokens[items[1].Token] = true
		})
	}
	callers.Wait()
	leased := s.get(free)
	if holders.Load() != 1 || len(tokens) != 1 || leased.State != near.Leased || !tokens[leased.Token] {
		s.t.Errorf("%d callers hold the lease %+v, and are told of the tokens %v", holders.Load(), leased, tokens)
	}
	for _, item := range []near.Item{found("filled"), {State: near.Absent}, {State: near.Found, TTL: time.Hour}} {
		s.del(free)
		token := s.lease(free, time.Minute)
		if s.fill(free, "another", item) || s.fill("value", token, item) {
			s.t.Error("filled under a lease that is none")
		}
		filled := s.fill(free, token, item)
		if got := s.get(free); !filled || !same(got, item) || (got.TTL == 0) != (item.TTL == 0) || got.TTL > item.TTL || got.TTL < item.TTL/2 {
			s.t.Errorf("filled with %+v it is %+v", item, got)
		}
	}
}

// After the end of a lease nobody can Fill or Release by it, and the next one is another one.
func (s *trial) leaseEnds() {
	const life = 50 * time.Millisecond
	lives := map[string]time.Duration{"its time": life}
	ends := map[string]func(key, token string){
		"Set":           func(key, _ string) { s.set(key, found("newer")) },
		"Del":           func(key, _ string) { s.del(key) },
		"Release":       func(key, token string) { s.release(key, token) },
		"Fill":          func(key, token string) { s.fill(key, token, found("newer")) },
		"another lease": func(key, _ string) { s.del(key); s.lease(key, time.Hour) },
		"its time": func(key, _ string) {
			await(s.t, "the end of a lease", func() bool { return s.get(key).State == near.Missing })
		},
	}
	if s.fleet != nil {
		ends["DelPrefix"] = func(key, _ string) {
			_, err := s.fleet.DelPrefix(s.ctx, s.Prefix+key)
			s.must(err)
		}
	}
	if s.Foreign != nil {
		ends["a foreign Set"] = func(key, _ string) { s.must(s.Foreign(s.ctx, s.Prefix+key, []byte("newer"))) }
		ends["a foreign Del"] = func(key, _ string) { s.must(s.Foreign(s.ctx, s.Prefix+key, nil)) }
	}
	for key, end := range ends {
		began := time.Now()
		token := s.lease(key, cmp.Or(lives[key], time.Hour))
		end(key, token)
		if lived := time.Since(began); lived < lives[key]-time.Millisecond {
			s.t.Errorf("a lease of %v has ended after %v", life, lived)
		}
		before := s.get(key)
		if s.fill(key, token, found("late")) {
			s.t.Errorf("after %s a Fill stored what was loaded before", key)
		}
		s.release(key, token)
		if after := s.get(key); before.Token == token || !same(before, after) {
			s.t.Errorf("after %s the key had %+v, and has %+v after a late Fill and Release", key, before, after)
		}
	}
}
