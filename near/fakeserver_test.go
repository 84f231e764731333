package near_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A server is a store with leases and a source of its changes, in the time of a bubble of
// synctest. Commands and changes go by connections of their own, so that they overtake
// each other.
type server struct {
	delay  func() time.Duration // of a message, one way; nil: none
	fail   func(op string) bool // whether a command fails; nil: none does
	missed func() bool          // whether a change is left out although Current vouches for it
	deaf   bool                 // vouches for nothing

	mu      sync.Mutex
	items   map[string]record
	streams []*stream
	tokens  int
	calls   map[string]int // by command
	lists   map[string]*members
	down    bool // nobody can connect
	full    bool // it refuses to store anything
}

type record struct {
	near.Item
	end time.Time // zero: never
}

func newServer() *server {
	return &server{items: map[string]record{}, calls: map[string]int{}, lists: map[string]*members{}}
}

var errServer = errors.New("the connection is broken")

// travel takes the time of a message.
func (s *server) travel(ctx context.Context) error {
	if s.delay != nil {
		sleep(ctx, s.delay())
	}
	return context.Cause(ctx)
}

// do runs a command. It may fail before it has an effect, or after.
func (s *server) do(ctx context.Context, op string, command func()) error {
	if err := s.travel(ctx); err != nil {
		return err
	}
	if s.fails(op) {
		return errServer
	}
	s.mu.Lock()
	s.calls[op]++
	command()
	s.mu.Unlock()
	if s.fails(op + " reply") {
		return errServer
	}
	return s.travel(ctx)
}

// write is do for a command that a full server refuses: then command returns false.
func (s *server) write(ctx context.Context, op string, command func() (accepted bool)) error {
	accepted := false
	err := s.do(ctx, op, func() { accepted = command() })
	if err == nil && !accepted {
		err = fmt.Errorf("full: %w", near.ErrReadOnly)
	}
	return err
}

func (s *server) fails(op string) bool { return s.fail != nil && s.fail(op) }

// look returns the record of a key. It removes an expired one, and tells of that.
func (s *server) look(key string) record {
	r, ok := s.items[key]
	if ok && !r.end.IsZero() && !time.Now().Before(r.end) {
		delete(s.items, key)
		s.tell(key)
		return record{}
	}
	if !r.end.IsZero() {
		r.TTL = time.Until(r.end)
	}
	return r
}

func (s *server) put(key string, item near.Item) {
	r := record{Item: item}
	r.Value = slices.Clone(item.Value)
	if item.TTL > 0 {
		r.end = time.Now().Add(item.TTL)
	}
	s.items[key] = r
	s.tell(key)
}

// drop removes a key. As in Redis, removing an absent key is no change.
func (s *server) drop(key string) {
	if _, ok := s.items[key]; ok {
		delete(s.items, key)
		s.tell(key)
	}
}

func (s *server) Get(ctx context.Context, keys ...string) (items []near.Item, err error) {
	err = s.do(ctx, "get", func() {
		for _, key := range keys {
			items = append(items, s.look(key).Item)
		}
	})
	return items, err
}

func (s *server) Set(ctx context.Context, key string, item near.Item) error {
	return s.write(ctx, "set", func() bool {
		if !s.full {
			s.put(key, item)
		}
		return !s.full
	})
}

func (s *server) Del(ctx context.Context, keys ...string) error {
	return s.do(ctx, "del", func() {
		for _, key := range keys {
			s.drop(key)
		}
	})
}

func (s *server) Lease(ctx context.Context, life time.Duration, keys ...string) (items []near.Item, err error) {
	err = s.write(ctx, "lease", func() bool {
		for _, key := range keys {
			r := s.look(key)
			if s.full && r.State == near.Missing {
				return false
			}
			if r.State == near.Missing {
				s.tokens++
				r.Token = strconv.Itoa(s.tokens)
				s.put(key, near.Item{State: near.Leased, Token: r.Token, TTL: life})
			}
			items = append(items, r.Item)
		}
		return true
	})
	return items, err
}

func (s *server) Fill(ctx context.Context, key, token string, item near.Item) (filled bool, err error) {
	err = s.do(ctx, "fill", func() {
		if r := s.look(key); r.State == near.Leased && r.Token == token {
			filled = true
			s.put(key, item)
		}
	})
	return filled, err
}

func (s *server) Release(ctx context.Context, key, token string) error {
	return s.do(ctx, "release", func() {
		if r := s.look(key); r.State == near.Leased && r.Token == token {
			s.drop(key)
		}
	})
}

// members are those of a list, each with its end.
type members struct {
	began time.Time
	ends  map[string]time.Time
}

func (s *server) Enroll(ctx context.Context, list, member string, life time.Duration) error {
	return s.do(ctx, "enroll", func() {
		l := s.lists[list]
		if l == nil {
			l = &members{time.Now(), map[string]time.Time{}}
			s.lists[list] = l
		}
		l.ends[member] = time.Now().Add(life)
	})
}

func (s *server) Withdraw(ctx context.Context, list, member string) error {
	return s.do(ctx, "withdraw", func() {
		if l := s.lists[list]; l != nil {
			delete(l.ends, member)
		}
	})
}

func (s *server) Members(ctx context.Context, list string) (all []string, age time.Duration, err error) {
	err = s.do(ctx, "members", func() {
		if l := s.lists[list]; l != nil {
			age = time.Since(l.began)
			for member, end := range l.ends {
				if time.Now().Before(end) {
					all = append(all, member)
				}
			}
		}
	})
	return all, age, err
}

func (s *server) DelPrefix(ctx context.Context, prefix string) (removed int, err error) {
	err = s.do(ctx, "del", func() {
		for key := range s.items {
			if strings.HasPrefix(key, prefix) {
				s.drop(key)
				removed++
			}
		}
	})
	return removed, err
}

// called returns how often a command has had an effect.
func (s *server) called(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// plain hides the leases of a server.
type plain struct{ near.Store }

// A stream is what one connection of a watcher brings, in order.
type stream struct {
	watcher  near.Watcher
	messages []message
	arrived  chan struct{} // has something when there may be a message
	silent   bool          // half open: nothing arrives any more
	cut      bool
}

type message struct {
	at   time.Time // when it arrives
	keys []string
	all  bool
	pong time.Time // when the ping was sent
}

// tell sends a change to all who watch. The lock must be held.
func (s *server) tell(keys ...string) {
	if s.missed == nil || !s.missed() {
		s.send(message{keys: keys})
	}
}

func (s *server) send(m message) {
	for _, one := range s.streams {
		s.sendTo(one, m)
	}
}

func (s *server) sendTo(one *stream, m message) {
	if one.silent || one.cut {
		return
	}
	m.at = time.Now()
	if s.delay != nil {
		m.at = m.at.Add(s.delay())
	}
	if n := len(one.messages); n > 0 && m.at.Before(one.messages[n-1].at) {
		m.at = one.messages[n-1].at
	}
	one.messages = append(one.messages, m)
	one.wake()
}

func (one *stream) wake() {
	select {
	case one.arrived <- struct{}{}:
	default:
	}
}

// flush removes everything.
func (s *server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	clear(s.lists)
	s.send(message{all: true})
}

// cut breaks the connections of all watchers, or makes them silent.
func (s *server) cut(silently bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.streams {
		if silently {
			one.silent = true
		} else {
			one.cut = true
		}
		one.wake()
	}
}

// set sets down or full.
func (s *server) set(flag *bool, to bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = to
}

// Watch connects until ctx ends.
func (s *server) Watch(ctx context.Context, w near.Watcher) {
	for ctx.Err() == nil {
		s.session(ctx, w)
		sleep(ctx, 5*time.Millisecond)
	}
}

// Covers is for all keys that do not begin with "uncovered:".
func (s *server) Covers(key string) bool { return !strings.HasPrefix(key, "uncovered:") }

// session is a connection of a watcher: subscribe, confirm, forget, and then serve.
func (s *server) session(ctx context.Context, w near.Watcher) {
	asked := time.Now()
	one := s.connect(ctx, w)
	if one == nil {
		return
	}
	defer s.disconnect(one)
	if s.travel(ctx) != nil { // the confirmation
		return
	}
	w.ChangedAll()
	s.vouch(w, asked)
	beat := near.MaxLag(w) / 4
	pings := time.NewTicker(beat)
	defer pings.Stop()
	heard := time.Now()
	for {
		m, wait, ok := s.next(one)
		switch {
		case ok && !m.pong.IsZero():
			heard = time.Now()
			s.vouch(w, m.pong)
			continue
		case ok && m.all:
			w.ChangedAll()
			continue
		case ok:
			w.Changed(m.keys...)
			continue
		case wait < 0 || time.Since(heard) > 4*near.MaxLag(w): // fake time
			w.Lost(errServer)
			return
		}
		select {
		case <-one.arrived:
		case <-time.After(wait):
		case <-pings.C:
			go s.ping(ctx, one, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) connect(ctx context.Context, w near.Watcher) *stream {
	if s.travel(ctx) != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil
	}
	one := &stream{watcher: w, arrived: make(chan struct{}, 1)}
	s.streams = append(s.streams, one)
	return one
}

func (s *server) disconnect(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = slices.DeleteFunc(s.streams, func(other *stream) bool { return other == one })
}

func (s *server) vouch(w near.Watcher, asOf time.Time) {
	if !s.deaf {
		w.Current(asOf)
	}
}

// next returns the message that has arrived, or how long to wait for one; less than 0 if
// the connection is broken.
func (s *server) next(one *stream) (m message, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.cut {
		return m, -1, false
	}
	if len(one.messages) == 0 {
		return m, time.Hour, false
	}
	if wait = time.Until(one.messages[0].at); wait > 0 {
		return m, wait, false
	}
	m = one.messages[0]
	one.messages = one.messages[1:]
	return m, 0, true
}

// ping has the server answer, after all that it has sent before.
func (s *server) ping(ctx context.Context, one *stream, sent time.Time) {
	if s.travel(ctx) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendTo(one, message{pong: sent})
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
