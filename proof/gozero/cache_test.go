package gozero

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

// TestGoZeroAgrees runs the same operations on our cache and on go-zero's
// collection.Cache and compares every result and the final contents.
//
// go-zero evicts by strict LRU: a read moves its key to the end at once. Ours
// marks the key, and eviction moves it to the end when it comes by. That is not
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
func TestGoZeroAgrees(t *testing.T) {
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

// diffOp is one drawn step. What becomes of it depends on the state.
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
		ours:   harness.New(t, cache.Options[string, any]{Limit: limit, Expire: time.Hour}),
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
	theirs *collection.Cache
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
		s.take(key, func() (any, error) { return i, harness.ErrFetch })
	case op.op <= 6 && s.kind == noEvictions:
		s.take(key, func() (any, error) { return nil, harness.ErrFetch })
	case op.op <= 6 && s.kind == oldestRead && full && s.read < s.limit:
		s.take(s.order[s.read], func() (any, error) { return nil, harness.ErrFetch })
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

// stored notes that key is now the newest, and what that moved and evicted.
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

// The differences. Each test asserts that ours is right, in fake time, and shows
// what go-zero v1.10.3 does, in real time because its goroutines never end. Its
// wrong answer is asserted only where it is the same every time.

func TestGoZeroDiffers(t *testing.T) {
	t.Run("E1: a refresh below a tick deletes", refreshBelowTick)
	t.Run("E2: early expiry", earlyExpiry)
	t.Run("E5: expire 0 and negative", oddExpire)
	t.Run("waiters of a panic get nil, nil", panicWaiters)
	t.Run("issue 3000: Del during Take stores the stale value", delDuringTake)
	t.Run("Set during Take is overwritten", setDuringTake)
	t.Run("a sub-second TTL", subSecondTTL)
	t.Run("goroutines without end", endlessGoroutines)
}

// Ours: a key set twice with a TTL of 1 s lives 1 s. go-zero: the jitter puts half
// of the refreshes below its tick of 1 s, and these expire at once.
func refreshBelowTick(t *testing.T) {
	keys := harness.Numbered("k", 200)
	synctest.Test(t, func(t *testing.T) {
		c := harness.New(t, cache.Options[string, any]{})
		for _, k := range keys {
			c.SetWithExpire(k, 1, time.Second)
			c.SetWithExpire(k, 1, time.Second)
		}
		time.Sleep(time.Second - 1)
		if n := harness.CountLive(c, keys); n != len(keys) {
			t.Errorf("ours: %d of %d keys left, want all", n, len(keys))
		}
		time.Sleep(time.Nanosecond)
		if n := harness.CountLive(c, keys); n != 0 {
			t.Errorf("ours: %d keys left past their deadline", n)
		}
	})

	g := newGoZero(t)
	began := time.Now()
	for _, k := range keys {
		g.SetWithExpire(k, 1, time.Second)
		g.SetWithExpire(k, 1, time.Second)
	}
	left := len(keys)
	for left == len(keys) && time.Since(began) < 5*time.Second {
		time.Sleep(20 * time.Millisecond)
		left = countGoZero(g, keys)
	}
	if took := time.Since(began); left == len(keys) || took < 500*time.Millisecond {
		t.Logf("go-zero: %d of %d keys left after %v", left, len(keys), took)
	}
	if left == len(keys) {
		t.Error("go-zero kept all keys: this comparison is out of date")
	}
}

// Ours: never before its deadline. go-zero: floors to whole ticks and counts the
// tick under way.
func earlyExpiry(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		for phase := time.Duration(0); phase < time.Second; phase += 50 * time.Millisecond {
			c := harness.New(t, cache.Options[string, any]{})
			time.Sleep(phase)
			c.SetWithExpire("k", 1, ttl)
			time.Sleep(ttl - 1)
			harness.WantHit(t, c, "k", any(1))
			time.Sleep(time.Nanosecond)
			harness.WantMiss(t, c, "k")
		}
	})

	g := newGoZero(t)
	time.Sleep(950 * time.Millisecond) // its wheel ticks every second since now
	lived := goZeroLifetime(g, ttl)
	t.Logf("go-zero: a TTL of %v set 50 ms before a tick lived %v", ttl, lived.Round(time.Millisecond))
}

// goZeroLifetime sets a key and polls until it is gone, 5 s at most.
func goZeroLifetime(g *collection.Cache, ttl time.Duration) time.Duration {
	began := time.Now()
	g.SetWithExpire("k", 1, ttl)
	for time.Since(began) < 5*time.Second {
		if _, ok := g.Get("k"); !ok {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// Ours: 0 is never, negative removes. go-zero: its wheel refuses both and nobody
// looks at the error; the value stays, on an existing key with the old expiry.
func oddExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := harness.New(t, cache.Options[string, any]{})
		c.SetWithExpire("zero", 1, time.Second)
		c.SetWithExpire("zero", 2, 0)
		c.SetWithExpire("negative", 1, time.Second)
		c.SetWithExpire("negative", 2, -time.Second)
		harness.WantMiss(t, c, "negative")
		time.Sleep(time.Hour)
		harness.WantHit(t, c, "zero", any(2))
	})

	g := newGoZero(t)
	g.SetWithExpire("negative", 1, -time.Second)
	if v, ok := g.Get("negative"); !ok || v != 1 {
		t.Errorf("go-zero: Get after a negative expire = %v, %t: this comparison is out of date", v, ok)
	}
	t.Log("go-zero: a negative expire stores the value for ever")
}

// Ours: waiters get an error that holds the panic. go-zero: its single flight has
// neither value nor error for them.
func panicWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := harness.New(t, cache.Options[string, int]{})
		gate := make(chan struct{})
		loader := harness.Start(func() (int, error) {
			return c.Take("k", func() (int, error) { <-gate; panic("boom") })
		})
		waiter := harness.Start(func() (int, error) { return c.Take("k", harness.FailFetch) })
		close(gate)
		<-loader.Done
		<-waiter.Done
		var pe *cache.PanicError
		if loader.Panicked != "boom" || !errors.As(waiter.Err, &pe) {
			t.Errorf("ours: the caller panicked with %v, the waiter got %v; want boom and a *PanicError", loader.Panicked, waiter.Err)
		}
	})

	g := newGoZero(t)
	gate, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_, _ = g.Take("k", func() (any, error) { <-gate; panic("boom") })
	}()
	waitForStack(t, "panicWaiters.func2.2")
	type result struct {
		v   any
		err error
	}
	results := make(chan result, 1)
	go func() {
		v, err := g.Take("k", func() (any, error) { return nil, harness.ErrFetch })
		results <- result{v, err}
	}()
	waitForStack(t, "syncx.(*flightGroup).createCall")
	close(gate)
	<-done
	if r := <-results; r.v != nil || r.err != nil {
		t.Errorf("go-zero: a waiter got %v, %v: this comparison is out of date", r.v, r.err)
	}
	t.Log("go-zero: a waiter of a panicking fetch gets nil, nil")
}

// waitForStack waits until some goroutine runs the function.
func waitForStack(t *testing.T, function string) {
	t.Helper()
	for range 2000 {
		buf := make([]byte, 1<<20)
		if strings.Contains(string(buf[:runtime.Stack(buf, true)]), function) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("no goroutine runs %s", function)
}

// Ours: the load began before the Del, so its value is not stored. go-zero: it is.
func delDuringTake(t *testing.T) {
	c := harness.New(t, cache.Options[string, any]{})
	v, err := c.Take("k", func() (any, error) { c.Del("k"); return "stale", nil })
	if v != "stale" || err != nil {
		t.Errorf("ours: Take = %v, %v; want its own result", v, err)
	}
	harness.WantMiss(t, c, "k")

	g := newGoZero(t)
	_, _ = g.Take("k", func() (any, error) { g.Del("k"); return "stale", nil })
	if v, ok := g.Get("k"); !ok || v != "stale" {
		t.Errorf("go-zero: Get = %v, %t: this comparison is out of date", v, ok)
	}
	t.Log("go-zero: a value loaded before a Del is stored after it")
}

func setDuringTake(t *testing.T) {
	c := harness.New(t, cache.Options[string, any]{})
	_, _ = c.Take("k", func() (any, error) { c.Set("k", "new"); return "stale", nil })
	harness.WantHit(t, c, "k", any("new"))

	g := newGoZero(t)
	_, _ = g.Take("k", func() (any, error) { g.Set("k", "new"); return "stale", nil })
	if v, ok := g.Get("k"); !ok || v != "stale" {
		t.Errorf("go-zero: Get = %v, %t: this comparison is out of date", v, ok)
	}
	t.Log("go-zero: a value loaded before a Set overwrites it")
}

// Ours: exact. go-zero: the next tick of its wheel, whatever was asked.
func subSecondTTL(t *testing.T) {
	const ttl = 30 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := harness.New(t, cache.Options[string, any]{})
		c.SetWithExpire("k", 1, ttl)
		time.Sleep(ttl - 1)
		harness.WantHit(t, c, "k", any(1))
		time.Sleep(time.Nanosecond)
		harness.WantMiss(t, c, "k")
	})
	t.Logf("go-zero: a TTL of %v lived %v", ttl, goZeroLifetime(newGoZero(t), ttl).Round(time.Millisecond))
}

func endlessGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	ours := harness.New(t, cache.Options[string, any]{Expire: time.Hour})
	ours.Set("k", 1)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("ours: %d goroutines between ticks, want none", n-before)
	}
	g := newGoZero(t)
	g.Set("k", 1)
	t.Logf("go-zero: %d goroutines that cannot be ended", runtime.NumGoroutine()-before)
	runtime.KeepAlive(ours)
}

// Helpers.

func newGoZero(t testing.TB, opts ...collection.CacheOption) *collection.Cache {
	t.Helper()
	logx.DisableStat() // it logs its hit ratio every minute
	g, err := collection.NewCache(time.Hour, opts...)
	if err != nil {
		t.Fatalf("go-zero: %v", err)
	}
	return g
}

func countGoZero(g *collection.Cache, keys []string) int {
	n := 0
	for _, k := range keys {
		if _, ok := g.Get(k); ok {
			n++
		}
	}
	return n
}

// goZeroPeers are go-zero caches by limit. They are used again because their
// goroutines never end.
type goZeroPeers struct {
	t       *testing.T
	byLimit map[int]*collection.Cache
}

func newGoZeroPeers(t *testing.T) *goZeroPeers {
	return &goZeroPeers{t, map[int]*collection.Cache{}}
}

// withLimit returns an empty cache with the limit. No stream uses more keys than
// its universe, and that of a limit is one of two sizes.
func (p *goZeroPeers) withLimit(limit, universe int) *collection.Cache {
	g, ok := p.byLimit[limit]
	if !ok {
		g = newGoZero(p.t, collection.WithLimit(limit))
		p.byLimit[limit] = g
	}
	for key := range max(universe, 2*limit+2) {
		g.Del(fmt.Sprint(key))
	}
	return g
}

// goZeroGoroutines are the two of each of go-zero's caches, which never end.
func goZeroGoroutines() []goleak.Option {
	const pkg = "github.com/zeromicro/go-zero/core/collection."
	return []goleak.Option{
		goleak.IgnoreAnyFunction(pkg + "(*TimingWheel).run"),
		goleak.IgnoreAnyFunction(pkg + "(*cacheStat).statLoop"),
	}
}
