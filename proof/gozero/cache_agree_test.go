package gozero

import (
	"fmt"
	"slices"
	"testing"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestCacheAgrees runs the same operations on our cache and on go-zero's, and compares
// every result and the final contents.
//
// go-zero evicts by strict LRU: a read moves its key to the end at once. Ours
// marks the key, and eviction moves it to the end when it reaches it. That is not
// the same order: with a (oldest), b and a read of b, the next eviction takes a in
// both, but the one after that takes b from go-zero and c, set in between, from
// ours, where only now b is moved on. They agree in the kinds of streams that are
// generated here:
//
//   - Without hits (Set of an absent key, Take and Get on a miss, Del), both are
//     FIFO.
//   - Without evictions (no more keys than the limit), the order does not matter.
//   - With a burst of hits on a full cache, or of overwrites, which are marked like
//     hits, if it uses the oldest keys once each, oldest first, and the next change
//     of the cache is an insertion: go-zero has moved these keys behind the rest in
//     the order of their use, and the eviction passes the same keys in the same
//     order and moves them behind the same rest, before the new key is appended.
//     Any other change in between (a Del, a use out of order) sets the orders
//     apart.
//
// TestPromise2SynchronousAndBounded compares all other orders with a model.
func TestCacheAgrees(t *testing.T) {
	peers := newGoZeroPeers(t)
	// Catches: an order that is not FIFO, wrong results of Take, entries that Del forgets.
	t.Run("without hits", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { compareStreams(rt, peers, noHits) })
	})
	// Catches: anything evicted below the limit, stale values, hits that change the contents.
	t.Run("without evictions", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { compareStreams(rt, peers, noEvictions) })
	})
	// Catches: marks that are not set by Get or Take, not honoured, not taken back, or that reorder.
	t.Run("oldest read first", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { compareStreams(rt, peers, oldestRead) })
	})
}

// streamKind is a kind of stream on which both caches must agree.
type streamKind int

const (
	noHits streamKind = iota
	noEvictions
	oldestRead
)

// diffOp is one drawn step. Its effect depends on the state.
type diffOp struct{ op, key int }

func compareStreams(t *rapid.T, peers *goZeroPeers, kind streamKind) {
	limit := rapid.IntRange(1, 50).Draw(t, "limit")
	universe := 2*limit + 2
	if kind == noEvictions {
		universe = limit
	}
	ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) diffOp {
		return diffOp{rapid.IntRange(-1, 9).Draw(t, "op"), rapid.IntRange(0, universe-1).Draw(t, "key")}
	}), 5*limit, 6*limit+30).Draw(t, "ops")

	s := &stream{
		t: t, kind: kind, limit: limit,
		ours:   cache.Must(cache.Options[string, any]{Limit: limit, Expire: time.Hour}),
		theirs: peers.withLimit(limit, universe),
	}
	for i, op := range ops {
		s.step(i, op)
	}
	live := 0
	for key := range universe {
		if s.get(fmt.Sprint(key)) {
			live++
		}
	}
	if s.ours.Len() != live || live != len(s.order) {
		t.Fatalf("Len = %d, found %d, want %d", s.ours.Len(), live, len(s.order))
	}
}

// stream drives both caches and tracks the strict LRU order, to know which
// operations keep to the kind.
type stream struct {
	t      *rapid.T
	kind   streamKind
	limit  int
	ours   *cache.Cache[string, any]
	theirs *theirs.Cache
	order  []string // oldest first, as of the last change
	read   int      // how many of the oldest have been read since
}

func (s *stream) step(i int, op diffOp) {
	key := fmt.Sprint(op.key)
	present := slices.Contains(s.order, key)
	full := len(s.order) == s.limit
	mayInsert := !present && (s.read == 0 || full)
	mayReplace := present && s.kind == noEvictions
	switch {
	case op.op < 0: // nothing: what failing streams are shrunk to
	case op.op <= 2 && (mayInsert || mayReplace):
		s.ours.Set(key, i)
		s.theirs.Set(key, i)
		s.stored(key)
	case op.op <= 2 && s.kind == oldestRead && full && s.read < s.limit:
		s.ours.Set(s.order[s.read], i)
		s.theirs.Set(s.order[s.read], i)
		s.read++
	case op.op <= 4 && mayInsert:
		s.take(key, func() (any, error) { return i, nil })
		s.stored(key)
	case op.op == 5 && !present:
		s.take(key, func() (any, error) { return i, errFetch })
	case op.op <= 6 && s.kind == noEvictions:
		s.take(key, func() (any, error) { return nil, errFetch })
	case op.op <= 6 && s.kind == oldestRead && full && s.read < s.limit:
		s.take(s.order[s.read], func() (any, error) { return nil, errFetch })
		s.read++
	case op.op == 7 && (!present || s.kind == noEvictions):
		s.get(key)
	case op.op == 7 && s.kind == oldestRead && full && s.read < s.limit:
		s.get(s.order[s.read])
		s.read++
	case op.op >= 8 && (!present || s.read == 0):
		s.ours.Del(key)
		s.theirs.Del(key)
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	}
}

// stored records that key is now the newest, and what that moved and evicted.
func (s *stream) stored(key string) {
	if slices.Contains(s.order, key) {
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	} else if len(s.order) == s.limit {
		s.order = slices.Concat(s.order[s.read:], s.order[:s.read])
		s.order = s.order[1:]
	}
	s.read = 0
	s.order = append(s.order, key)
}

func (s *stream) get(key string) bool {
	s.t.Helper()
	v, ok := s.ours.Get(key)
	w, their := s.theirs.Get(key)
	if v != w || ok != their {
		s.t.Fatalf("Get(%s): ours %v, %t; go-zero %v, %t", key, v, ok, w, their)
	}
	return ok
}

func (s *stream) take(key string, fetch func() (any, error)) {
	s.t.Helper()
	v, err := s.ours.Take(key, fetch)
	w, their := s.theirs.Take(key, fetch)
	if err != their || err == nil && v != w {
		s.t.Fatalf("Take(%s): ours %v, %v; go-zero %v, %v", key, v, err, w, their)
	}
}

func newGoZero(t testing.TB, opts ...theirs.CacheOption) *theirs.Cache {
	t.Helper()
	logx.DisableStat() // it logs its hit ratio every minute
	g, err := theirs.NewCache(time.Hour, opts...)
	if err != nil {
		t.Fatalf("go-zero: %v", err)
	}
	return g
}

// goZeroPeers are go-zero caches by limit. They are used again because their
// goroutines never end.
type goZeroPeers struct {
	t       *testing.T
	byLimit map[int]*theirs.Cache
}

func newGoZeroPeers(t *testing.T) *goZeroPeers {
	return &goZeroPeers{t, map[int]*theirs.Cache{}}
}

// withLimit returns an empty cache with the limit. No stream uses more keys than
// its universe, and that of a limit is one of two sizes.
func (p *goZeroPeers) withLimit(limit, universe int) *theirs.Cache {
	g, ok := p.byLimit[limit]
	if !ok {
		g = newGoZero(p.t, theirs.WithLimit(limit))
		p.byLimit[limit] = g
	}
	for key := range max(universe, 2*limit+2) {
		g.Del(fmt.Sprint(key))
	}
	return g
}
