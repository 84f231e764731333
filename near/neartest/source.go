package neartest

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A follower reads a key each time it is told that it may have changed, as a cache with a request for it does. So after
// a change, once it is vouched for, it must have read what is there since.
type follower struct {
	*Recorder
	s     *trial
	key   string
	wake  chan struct{} // not empty if there is something to read
	heard atomic.Int64  // so many times

	mu   sync.Mutex
	read int64 // what was heard of before the last reading began
	last near.Item
}

func (s *trial) follow(key string) *follower {
	s.t.Helper()
	f := &follower{Recorder: NewRecorder(s.t, s.MaxLag), s: s, key: s.Prefix + key, wake: make(chan struct{}, 1)}
	reading := make(chan struct{})
	stop := Watch(s.Source, f)
	go func() {
		defer close(reading)
		for range f.wake {
			f.look()
		}
	}()
	s.t.Cleanup(func() { stop(); close(f.wake); <-reading })
	f.Await(s.t, "the first Current", func(told Told) bool { return told.Serving })
	return f
}

func (f *follower) Changed(keys ...string) {
	for _, key := range keys {
		if key == f.key {
			f.hear()
		}
	}
	f.Recorder.Changed(keys...)
}

func (f *follower) ChangedAll() {
	f.hear()
	f.Recorder.ChangedAll()
}

func (f *follower) hear() {
	f.heard.Add(1)
	select {
	case f.wake <- struct{}{}:
	default: // a reading that has not begun comes after this change too
	}
}

// look reads the key, again and again while the store fails.
func (f *follower) look() {
	heard := f.heard.Load()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if items, err := f.s.Store.Get(context.Background(), f.key); err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.read, f.last = heard, items[0]
			return
		}
	}
}

// sees fails the test if the key was not read, because the source told of it, when it was as is now.
func (f *follower) sees(what string, want near.Item) {
	f.s.t.Helper()
	changed := time.Now()
	f.AwaitCurrent(f.s.t, changed)
	heard, last := f.heard.Load(), near.Item{}
	await(f.s.t, "a reading of the key", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		last = f.last
		return f.read >= heard
	})
	if !same(last, want) {
		f.s.t.Errorf("%s of %q, done at %s and vouched for: who reads when told of a change has read %+v, want %+v",
			what, f.key, clock(changed), last, want)
	}
}

// The source tells of every change of a key, when it can be read, before it vouches for it.
func (s *trial) tellsOfEachChange() {
	key := "k\xff\x00"
	if s.Read != nil {
		key = "k"
	}
	f := s.follow(key)
	for i := range 3 {
		n := strconv.Itoa(i)
		s.set(key, found("set "+n))
		f.sees("Set", found("set "+n))
		s.del(key, "other")
		f.sees("Del", near.Item{})
	}
	if s.Read != nil {
		return
	}
	s.set(key, near.Item{State: near.Absent})
	f.sees("Set to Absent", near.Item{State: near.Absent})
	if s.fleet != nil {
		_, err := s.fleet.DelPrefix(s.ctx, s.Prefix)
		s.must(err)
		f.sees("DelPrefix", near.Item{})
	}
	if s.leaser != nil {
		s.del(key)
		token := s.lease(key, time.Hour)
		s.get(key) // another caller, who waits for its end
		f.AwaitCurrent(s.t, time.Now())
		before := f.heard.Load()
		s.release(key, token)
		f.sees("Release", near.Item{})
		if f.heard.Load() == before {
			s.t.Error("nothing was told of a Release, for which somebody waits")
		}
		token = s.lease(key, time.Hour)
		s.get(key)
		s.fill(key, token, found("filled"))
		f.sees("Fill", found("filled"))
	}
	if s.Foreign == nil {
		s.t.Log("NOT TESTED: without Foreign, what other programs do and what expires")
		return
	}
	s.must(s.Foreign(s.ctx, s.Prefix+key, []byte("foreign")))
	f.sees("a foreign Set", found("foreign"))
	s.must(s.Foreign(s.ctx, s.Prefix+key, nil))
	f.sees("a foreign Del", near.Item{})
	s.set(key, near.Item{State: near.Found, TTL: 20 * time.Millisecond})
	await(s.t, "the end of a TTL", func() bool { return s.get(key).State == near.Missing })
	f.sees("the end of a TTL", near.Item{})
}

// A checker remembers what was written when, and looks at each Current whether all that was written before was told.
type checker struct {
	*Recorder
	tell    sync.Mutex
	told    map[string]bool
	written map[string]time.Time // when the write was acknowledged, until it is told
	alls    int
	vouched atomic.Int64 // times
}

func (c *checker) Changed(keys ...string) {
	c.tell.Lock()
	for _, key := range keys {
		c.told[key] = true
		delete(c.written, key)
	}
	c.tell.Unlock()
	c.Recorder.Changed(keys...)
}

func (c *checker) ChangedAll() {
	c.tell.Lock()
	c.alls++
	clear(c.written)
	c.tell.Unlock()
	c.Recorder.ChangedAll()
}

func (c *checker) Current(asOf time.Time) {
	c.tell.Lock()
	for key, at := range c.written {
		if at.Before(asOf) {
			c.t.Errorf("Current as of %s, but %q, which was written until %s, was not told", clock(asOf), key, clock(at))
			delete(c.written, key)
		}
	}
	c.tell.Unlock()
	c.vouched.Add(1)
	c.Recorder.Current(asOf)
}

// write calls f, which writes a key once. A ChangedAll meanwhile may be what tells of it.
func (c *checker) write(key string, f func()) {
	before := c.forgotten()
	f()
	c.tell.Lock()
	defer c.tell.Unlock()
	if !c.told[key] && c.alls == before {
		c.written[key] = time.Now()
	}
}

func (c *checker) forgotten() int {
	c.tell.Lock()
	defer c.tell.Unlock()
	return c.alls
}

// Current(asOf) comes after the Changed of everything that changed before asOf, to each of several watchers, and Watch
// returns when its context ends.
func (s *trial) tellsBeforeItVouches() {
	checkers := make([]*checker, 2)
	for i := range checkers {
		c := &checker{Recorder: NewRecorder(s.t, min(s.MaxLag, 60*time.Millisecond)), told: map[string]bool{}}
		c.written = map[string]time.Time{}
		stop := Watch(s.Source, c)
		defer returns(s.t, "Watch, whose context has ended", stop)
		c.Await(s.t, "the first Current", func(told Told) bool { return told.Serving })
		checkers[i] = c
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i, end := 0, time.Now().Add(patience); checkers[0].vouched.Load() < 30 && time.Now().Before(end); i++ {
				key := s.Prefix + strconv.Itoa(w) + "." + strconv.Itoa(i)
				write := func() {
					if err := s.Store.Set(s.ctx, key, found("v")); err != nil {
						s.t.Error(err)
					}
				}
				for _, c := range checkers {
					inner := write
					write = func() { c.write(key, inner) }
				}
				write()
				time.Sleep(100 * time.Microsecond) // Currents come between them
			}
		})
	}
	writers.Wait()
	wrote := time.Now()
	for _, c := range checkers {
		c.AwaitCurrent(s.t, wrote)
	}
}

// When the source may have missed something it says ChangedAll before it vouches again.
func (s *trial) tellsAfterFaults() {
	if s.Foreign == nil {
		s.t.Log("NOT TESTED: without Foreign, changes while the store cannot be asked")
	}
	f := s.follow("k")
	for name, fault := range Faults() {
		over := s.Proxy.Begin(fault, FromServer)
		time.Sleep(s.MaxLag / 2)
		if s.Foreign != nil {
			s.must(s.Foreign(s.ctx, s.Prefix+"k", []byte(name)))
			time.Sleep(s.MaxLag)
		}
		over()
		if s.Foreign == nil {
			await(s.t, "the store", func() bool { return s.Store.Set(s.ctx, s.Prefix+"k", found(name)) == nil })
		}
		f.sees("a change during "+name, found(name))
	}
}
