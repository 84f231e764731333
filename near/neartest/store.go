package neartest

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// The items of a Get are in the order of keys, and have what was stored and the TTL that is left.
func (s *trial) answersInOrder() {
	began := time.Now()
	keys := s.keys("none", "absent", "lasting", "value")
	wanted := []near.Item{
		{}, {State: near.Absent, TTL: 2 * time.Hour}, found("l"), {State: near.Found, Value: []byte("v"), TTL: time.Hour},
	}
	for i, item := range wanted[1:] {
		s.must(s.Store.Set(s.ctx, keys[1+i], item))
	}
	items, err := s.Store.Get(s.ctx, keys...)
	s.must(err)
	if len(items) != len(wanted) {
		s.t.Fatalf("%d items for %d keys", len(items), len(wanted))
	}
	for i, want := range wanted {
		got := items[i]
		short := want.TTL - time.Since(began) - 10*time.Millisecond // stores count in milliseconds
		if !same(got, want) || got.TTL > want.TTL || got.TTL != 0 && got.TTL < short {
			s.t.Errorf("%q is %+v, want %+v", keys[i], got, want)
		}
	}
}

// A value comes back byte by byte, and a key may have any bytes.
func (s *trial) keepsEveryByte() {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	values := []string{"", "\x00", string(all), strings.Repeat("long", 1<<18), "*", "null", `""`}
	for i, value := range values {
		s.set(string(all)+strconv.Itoa(i), found(value))
	}
	for i, value := range values {
		if got := s.get(string(all) + strconv.Itoa(i)); got.State != near.Found || !bytes.Equal(got.Value, []byte(value)) {
			s.t.Errorf("%.40q came back as %d, %.40q", value, got.State, got.Value)
		}
	}
}

// Set replaces whatever the key had, and Del removes it.
func (s *trial) replacesAndRemoves() {
	before := map[string]func(key string){
		"nothing": func(string) {},
		"value":   func(key string) { s.set(key, found("old")) },
		"absent":  func(key string) { s.set(key, near.Item{State: near.Absent, TTL: time.Hour}) },
	}
	if s.leaser != nil {
		before["lease"] = func(key string) { s.lease(key, time.Hour) }
	}
	if s.Foreign != nil {
		before["foreign"] = func(key string) { s.must(s.Foreign(s.ctx, s.Prefix+key, []byte("raw"))) }
	}
	for name, prepare := range before {
		for _, want := range []near.Item{found("new"), {State: near.Absent}, {}} {
			prepare(name)
			if want.State == near.Missing {
				s.del(name, "other")
			} else {
				s.set(name, want)
			}
			if got := s.get(name); !same(got, want) || got.TTL != 0 {
				s.t.Errorf("%s became %+v, want %+v", name, got, want)
			}
			s.del(name)
		}
	}
}

// An item is there until its TTL has passed, which the next Set replaces.
func (s *trial) expires() {
	const ttl = 50 * time.Millisecond
	short := near.Item{State: near.Found, Value: []byte("v"), TTL: ttl}
	s.set("longer", short)
	s.set("longer", found("for ever"))
	s.set("shorter", found("for ever"))
	began := time.Now()
	s.set("shorter", short)
	await(s.t, "the end of a TTL", func() bool { return s.get("shorter").State == near.Missing })
	if lived := time.Since(began); lived < ttl-time.Millisecond {
		s.t.Errorf("a TTL of %v has ended after %v", ttl, lived)
	}
	if got := s.get("longer"); got.State != near.Found {
		s.t.Errorf("the TTL of what was replaced has ended the new one: %+v", got)
	}
}

// A read of the store returns what is current at some moment of the read.
func (s *trial) readsWhatIsCurrent() {
	var o Oracle
	ctx, stop := context.WithCancel(s.ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	var reads atomic.Int64
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				items, err := s.Store.Get(ctx, s.Prefix+"k")
				if err == nil {
					version, _ := strconv.Atoi(string(items[0].Value)) // 0 of what is missing
					err = o.Judge(0, version, began).Err(0)
				}
				if err != nil && ctx.Err() == nil {
					s.t.Error(err)
					stop()
				}
				reads.Add(1)
			}
		})
	}
	end := time.Now().Add(patience)
	for i := 0; ctx.Err() == nil && (i < 200 || reads.Load() < 1000) && time.Now().Before(end); i++ {
		time.Sleep(50 * time.Microsecond) // reads come between them
		version := o.Write(0)
		s.set("k", found(strconv.Itoa(version)))
		o.Acknowledge(0, version)
	}
}

// Calls return soon after their context has ended, whatever the server does. What failed then does no harm.
func (s *trial) callsEnd() {
	s.get("k") // it is connected
	calls := map[string]func(ctx context.Context) error{
		"Get": func(ctx context.Context) error { _, err := s.Store.Get(ctx, s.Prefix+"k"); return err },
		"Set": func(ctx context.Context) error { return s.Store.Set(ctx, s.Prefix+"k", found("v")) },
		"Del": func(ctx context.Context) error { return s.Store.Del(ctx, s.Prefix+"k") },
	}
	if l := s.leaser; l != nil {
		calls["Lease"] = func(ctx context.Context) error { _, err := l.Lease(ctx, time.Second, s.Prefix+"k"); return err }
		calls["Fill"] = func(ctx context.Context) error { _, err := l.Fill(ctx, s.Prefix+"k", "t", found("v")); return err }
		calls["Release"] = func(ctx context.Context) error { return l.Release(ctx, s.Prefix+"k", "t") }
	}
	if f := s.fleet; f != nil {
		calls["Enroll"] = func(ctx context.Context) error { return f.Enroll(ctx, s.Prefix, "m", time.Second) }
		calls["Withdraw"] = func(ctx context.Context) error { return f.Withdraw(ctx, s.Prefix, "m") }
		calls["Members"] = func(ctx context.Context) error { _, _, err := f.Members(ctx, s.Prefix); return err }
		calls["DelPrefix"] = func(ctx context.Context) error { _, err := f.DelPrefix(ctx, s.Prefix); return err }
	}
	over := s.Proxy.Begin(Stall, BothWays)
	defer func() {
		over()
		await(s.t, "the store, which answers again", func() bool { _, err := s.Store.Get(s.ctx, s.Prefix+"k"); return err == nil })
	}()
	for name, call := range calls {
		returns(s.t, name+", whose context has ended", func() {
			ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond) // real time: it is to end too early
			defer cancel()
			if call(ctx) == nil {
				s.t.Errorf("%s returned nil though nobody has answered", name)
			}
		})
	}
}
