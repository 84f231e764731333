package neartest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// patience is for what must happen.
const patience = time.Minute

// A Subject is what [Test] proves. A store that is also a near.Leaser or a near.Fleet is tested as that.
type Subject struct {
	Store near.Store

	// Source tells of the changes of Store. Without it only the store is tested.
	Source near.Source

	// Read is instead of Store for a source of a database, which the loads of a near.Local read: it returns the bytes of
	// a key, nil if it has none. Then only the source is tested, Foreign is needed, and keys are text.
	Read func(ctx context.Context, key string) ([]byte, error)

	// Prefix is how the keys of the test begin. The source covers them.
	Prefix string

	// Foreign writes the bytes of a key, or removes it if value is nil, as another program does: past Store, and past
	// Proxy. nil means that the source tells only of what is changed by Store: not of other programs, nor of what
	// expires.
	Foreign func(ctx context.Context, key string, value []byte) error

	// Proxy is between Store and Source and their server. Without it no connection breaks.
	Proxy *Proxy

	// MaxLag is that of the caches and watchers of the test; 0 means 300 ms.
	MaxLag time.Duration
}

// Test runs a subtest for each promise, each with a subject of its own: make may end what it made by t.Cleanup, and may
// call t.Parallel. Subjects may share a store, but not at the same time: one subtest removes all its keys.
func Test(t *testing.T, make func(t *testing.T) Subject) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.test(newTrial(t, make(t))) })
	}
}

// A promise is one sentence of a contract, for subjects that have what it needs.
type promise struct {
	name  string
	needs string
	prove func(*trial)
}

var promises = []promise{
	{"StoreAnswersInOrder", "Store", (*trial).answersInOrder},
	{"StoreKeepsEveryByte", "Store", (*trial).keepsEveryByte},
	{"StoreReplacesAndRemoves", "Store", (*trial).replacesAndRemoves},
	{"StoreExpires", "Store", (*trial).expires},
	{"StoreReadsWhatIsCurrent", "Store", (*trial).readsWhatIsCurrent},
	{"StoreCallsEndWithTheirContext", "Store Proxy", (*trial).callsEnd},
	{"LeaseIsForOne", "Leaser", (*trial).leaseIsForOne},
	{"LeaseEnds", "Leaser", (*trial).leaseEnds},
	{"FleetHasLists", "Fleet", (*trial).hasLists},
	{"FleetRemovesPrefixes", "Fleet", (*trial).removesPrefixes},
	{"SourceTellsOfEachChange", "Source", (*trial).tellsOfEachChange},
	{"SourceTellsBeforeItVouches", "Source", (*trial).tellsBeforeItVouches},
	{"SourceTellsAfterFaults", "Source Proxy", (*trial).tellsAfterFaults},
	{"CachesAgree", "Source Leaser", (*trial).cachesAgree},
	{"LocalsAgree", "Source Read", (*trial).localsAgree},
}

// test proves a promise, or says what for the subject lacks it.
func (p promise) test(s *trial) {
	has := map[string]bool{"Store": s.Read == nil, "Read": s.Read != nil, "Source": s.Source != nil, "Proxy": s.Proxy != nil, "Leaser": s.leaser != nil, "Fleet": s.fleet != nil}
	for what := range strings.FieldsSeq(p.needs) {
		if !has[what] {
			s.t.Log("NOT TESTED: the subject lacks a " + what)
			return
		}
	}
	p.prove(s)
}

// A trial is a subject in a subtest.
type trial struct {
	Subject
	leaser near.Leaser // the store, if it is one
	fleet  near.Fleet  // likewise
	t      testing.TB
	ctx    context.Context
}

// newTrial returns a trial with keys of its own.
func newTrial(t testing.TB, s Subject) *trial {
	t.Helper()
	s.Prefix += rand.Text()[:8] + ":"
	if s.MaxLag == 0 {
		s.MaxLag = 300 * time.Millisecond
	}
	if c, ok := s.Source.(near.Coverer); ok && !c.Covers(s.Prefix) {
		t.Fatalf("the source does not cover %q", s.Prefix)
	}
	if s.Read != nil {
		s.Store = rows{s}
	}
	leaser, _ := s.Store.(near.Leaser)
	fleet, _ := s.Store.(near.Fleet)
	return &trial{s, leaser, fleet, t, t.Context()}
}

func (s *trial) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// keys returns keys of names, to which it appends something until one server has them all: each call is for one.
func (s *trial) keys(names ...string) []string {
	of, sharded := s.Store.(near.Sharded)
	for i := range names {
		names[i] = s.Prefix + names[i]
		for sharded && of.Server(names[i]) != of.Server(names[0]) {
			names[i] += "'"
		}
	}
	return names
}

func (s *trial) set(key string, item near.Item) {
	s.t.Helper()
	s.must(s.Store.Set(s.ctx, s.Prefix+key, item))
}

func (s *trial) del(keys ...string) {
	s.t.Helper()
	s.must(s.Store.Del(s.ctx, s.keys(keys...)...))
}

func (s *trial) get(key string) near.Item {
	s.t.Helper()
	items, err := s.Store.Get(s.ctx, s.Prefix+key)
	s.must(err)
	return items[0]
}

// lease takes the lease on a key, and returns its token.
func (s *trial) lease(key string, life time.Duration) (token string) {
	s.t.Helper()
	items, err := s.leaser.Lease(s.ctx, life, s.Prefix+key)
	s.must(err)
	if items[0].State != near.Missing || items[0].Token == "" {
		s.t.Fatalf("Lease of %q returns %+v, want a Missing key with a Token", key, items[0])
	}
	return items[0].Token
}

// fill reports whether a Fill with a token has stored.
func (s *trial) fill(key, token string, item near.Item) bool {
	s.t.Helper()
	filled, err := s.leaser.Fill(s.ctx, s.Prefix+key, token, item)
	s.must(err)
	return filled
}

func (s *trial) release(key, token string) {
	s.t.Helper()
	s.must(s.leaser.Release(s.ctx, s.Prefix+key, token))
}

// rows is a store of a subject with Read.
type rows struct{ Subject }

func (s rows) Get(ctx context.Context, keys ...string) (items []near.Item, err error) {
	for _, key := range keys {
		value, failed := s.Read(ctx, key)
		item := near.Item{}
		if value != nil {
			item = near.Item{State: near.Found, Value: value}
		}
		items, err = append(items, item), errors.Join(err, failed)
	}
	return items, err
}

func (s rows) Set(ctx context.Context, key string, item near.Item) error {
	return s.Foreign(ctx, key, item.Value)
}

func (s rows) Del(ctx context.Context, keys ...string) (err error) {
	for _, key := range keys {
		err = errors.Join(err, s.Foreign(ctx, key, nil))
	}
	return err
}

func found(value string) near.Item { return near.Item{State: near.Found, Value: []byte(value)} }

// same reports whether two items are, whatever is left of their TTLs.
func same(a, b near.Item) bool {
	return a.State == b.State && bytes.Equal(a.Value, b.Value) && a.Token == b.Token
}

// await waits until is returns true.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s: not after %v", what, patience)
		}
	}
}

// returns fails the test, with the stacks of all goroutines, if f does not return.
func returns(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Errorf("%s: not done after %v\n%s", what, patience, stacks[:runtime.Stack(stacks, true)])
	}
}
