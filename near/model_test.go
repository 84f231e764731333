package near_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
	"pgregory.net/rapid"
)

// A database is the truth behind the caches: all versions that each key had.
type database struct {
	mu   sync.Mutex
	keys []history
}

type history struct {
	writing  chan struct{} // full while somebody writes the key, until the caches know; no mutex, for which a bubble's time does not wait
	versions []version
}

// A version is a value of a key: its number, or that it has none.
type version struct {
	absent bool
	told   time.Time // when the write returned without an error; zero before
	tried  time.Time // when a Del by an instance returned with an error
	gone   time.Time // when a Revoke, DelPrefix or Clear returned without one
	by     *instance // who wrote; nil for others
}

// An instance is one of a fleet.
type instance = near.Cache[int, int]

// A fleet runs random operations and notes which answers are wrong.
type fleet struct {
	server    *server
	db        database
	instances []*instance
	away      atomic.Bool   // the store fails
	over      atomic.Bool   // nothing fails any more
	window    time.Duration // how old an answer may be
	load      func() time.Duration
	setup     setup

	mu        sync.Mutex
	random    *rand.Rand
	problems  []string
	answers   int
	localHits uint64
	audits    stats.Audits
}

// A setup is what rapid draws.
type setup struct {
	Seed                      uint64
	Delay, Load               int // the longest, in ms
	Faults, Failing           bool
	Lying                     int // of 100 changes, those that the source leaves out
	ServeOn, Jitter, NotFound bool
	Schemas                   bool // instances of two versions
	Loader                    bool // given once
	Renew                     bool // with RefreshAfter
	Ages, Checks              bool
	MaxLag, Lease, Expire     int // in ms
	Local                     int // LocalExpire, in ms
	Limit                     int
	Audit                     int
	For                       time.Duration // 0: for some steps of each worker
	Calm                      int           // pauses between steps, and between faults, are longer by so many times
}

func drawSetup(t *rapid.T) setup {
	return setup{
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Delay:    rapid.SampledFrom([]int{1, 5, 40}).Draw(t, "delay"),
		Load:     rapid.SampledFrom([]int{1, 20, 300}).Draw(t, "load"),
		Faults:   rapid.Bool().Draw(t, "faults"),
		Failing:  rapid.Bool().Draw(t, "failing"),
		ServeOn:  rapid.Bool().Draw(t, "serve on"),
		Jitter:   rapid.Bool().Draw(t, "jitter"),
		NotFound: rapid.Bool().Draw(t, "not found"),
		Schemas:  rapid.Bool().Draw(t, "schemas"),
		Loader:   rapid.Bool().Draw(t, "loader"),
		Renew:    rapid.Bool().Draw(t, "renew"),
		Ages:     rapid.Bool().Draw(t, "ages"),
		Checks:   rapid.Bool().Draw(t, "checks"),
		MaxLag:   rapid.SampledFrom([]int{100, 300}).Draw(t, "max lag"),
		Lease:    rapid.SampledFrom([]int{100, 1000}).Draw(t, "lease"),
		Expire:   rapid.SampledFrom([]int{0, 500}).Draw(t, "expire"),
		Local:    rapid.SampledFrom([]int{0, 700}).Draw(t, "local"),
		Limit:    rapid.SampledFrom([]int{0, 2}).Draw(t, "limit"),
		Audit:    rapid.IntRange(0, 1).Draw(t, "audit"),
	}
}

const (
	modelKeys      = 4
	modelInstances = 3
	modelWorkers   = 3
	modelSteps     = 60
)

func (f *fleet) below(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

func (f *fleet) upTo(ms int) time.Duration {
	return time.Duration(f.below(ms*1000)+1) * time.Microsecond
}

func (f *fleet) problem(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

// runFleet runs one, in a bubble.
func runFleet(t *testing.T, s setup) *fleet {
	f := &fleet{server: newServer(), random: rand.New(rand.NewPCG(s.Seed, 1)), setup: s}
	f.window = ms(s.MaxLag)
	synctest.Test(t, func(t *testing.T) {
		f.server.delay = func() time.Duration {
			if f.below(20) == 0 {
				return f.upTo(4 * s.Delay)
			}
			return f.upTo(s.Delay)
		}
		f.load = func() time.Duration { return f.upTo(s.Load) }
		f.server.fail = func(string) bool { return !f.over.Load() && (f.away.Load() || s.Failing && f.below(12) == 0) }
		if s.Lying > 0 {
			f.server.missed = func() bool { return f.below(100) < s.Lying }
		}
		f.db.keys = make([]history, modelKeys)
		for i := range f.db.keys {
			f.db.keys[i] = history{make(chan struct{}, 1), []version{{told: time.Now()}}}
		}
		o := near.Options[int, int]{
			Prefix: "k:", Limit: s.Limit, MaxLag: ms(s.MaxLag), Lease: ms(s.Lease), Expire: ms(s.Expire), LocalExpire: ms(s.Local),
			Logger: slog.New(slog.DiscardHandler),
		}
		if s.ServeOn {
			o.ServeOn = 2 * f.window
			f.window = o.ServeOn
		}
		if s.Jitter {
			o.Jitter = 0.2
		}
		if s.Loader {
			o.Cache.Load = func(_ context.Context, key int, _ *cache.Load[int]) (int, error) { return f.fetch(key) }
			o.Cache.LoadMany = func(_ context.Context, keys []int, _ []*cache.Load[int]) (map[int]int, error) {
				return f.fetchMany(keys)
			}
		}
		o.Cache.Ages, o.CheckClock, o.Audit = s.Ages, s.Checks, s.Audit
		if s.Renew {
			o.Cache.RefreshAfter = 60 * time.Millisecond
		}
		if s.NotFound {
			o.NotFoundExpire = 400 * time.Millisecond
		}
		for i := range modelInstances {
			if s.Schemas {
				o.Schema = "v" + strconv.Itoa(2-i%2)
			}
			c, err := near.New[int, int](f.server, f.server, o)
			must(t, err)
			f.instances = append(f.instances, c)
		}
		f.run(t)
		f.over.Store(true) // the last chance of a Del that has failed
		for _, one := range f.instances {
			f.note(one.Stats())
			if err := one.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return f
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (f *fleet) run(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var workers, faults sync.WaitGroup
	for _, one := range f.instances {
		for range modelWorkers {
			workers.Go(func() {
				for began, n := time.Now(), 0; n < modelSteps || time.Since(began) < f.setup.For; n++ {
					f.step(ctx, one)
				}
			})
		}
	}
	if f.setup.Faults {
		faults.Go(func() { f.faults(ctx) })
	}
	workers.Wait()
	stop()
	faults.Wait()
}

func (f *fleet) note(s stats.Snapshot) {
	f.localHits += s.Hits
	a := &f.audits
	a.Same, a.Changed, a.Violations, a.Unknown = a.Same+s.Near.Audits.Same, a.Changed+s.Near.Audits.Changed, a.Violations+s.Near.Audits.Violations, a.Unknown+s.Near.Audits.Unknown
}

// textsOf returns what the store may have of a key.
func textsOf(key int) []string {
	text := strconv.Itoa(key)
	return []string{"k:" + text, "k:~v1~" + text, "k:~v2~" + text}
}

func (f *fleet) faults(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, f.upTo(400*(1+f.setup.Calm)))
		switch f.below(8) {
		case 0:
			f.server.cut(false)
		case 1, 2:
			f.server.cut(true)
		case 3:
			f.server.flush()
		case 4:
			f.server.cut(f.below(2) == 0)
			f.server.set(&f.server.down, true)
			sleep(ctx, f.upTo(500))
			f.server.set(&f.server.down, false)
		case 6: // nobody is answered
			f.away.Store(true)
			sleep(ctx, f.upTo(900))
			f.away.Store(false)
		case 7:
			f.server.set(&f.server.full, true)
			sleep(ctx, f.upTo(500))
			f.server.set(&f.server.full, false)
		case 5: // evicted for want of memory
			f.server.mu.Lock()
			for _, text := range textsOf(f.below(modelKeys)) {
				f.server.drop(text)
			}
			f.server.mu.Unlock()
		}
	}
}

func (f *fleet) step(ctx context.Context, one *instance) {
	key := f.below(modelKeys)
	switch n := f.below(20); {
	case n < 2:
		f.write(ctx, one, key)
	case n < 3:
		f.write(ctx, nil, key)
	case n < 6:
		began := time.Now()
		value, ok, err := one.Get(ctx, key)
		f.judge(one, "Get", key, began, f.window, value, ok, err)
	case n < 8:
		f.takeMany(ctx, one)
	case n < 11:
		began, age := time.Now(), []time.Duration{0, 20 * time.Millisecond, ms(f.setup.MaxLag) / 2, 2 * ms(f.setup.MaxLag)}[f.below(4)]
		value, err := one.TakeWithin(ctx, key, age, func(context.Context) (int, error) { return f.fetch(key) })
		f.judge(one, "TakeWithin "+age.String(), key, began, age, value, true, err)
	default:
		began := time.Now()
		take, op := one.Fetch, "Fetch"
		if !f.setup.Loader || n%2 == 0 {
			op, take = "Take", func(ctx context.Context, key int) (int, error) {
				return one.Take(ctx, key, func(context.Context) (int, error) { return f.fetch(key) })
			}
		}
		value, err := take(ctx, key)
		f.judge(one, op, key, began, f.window, value, true, err)
	}
	if f.below(3) == 0 {
		time.Sleep(f.upTo(60 * (1 + f.setup.Calm)))
	}
}

// fetch reads the database, at some moment of the time that takes.
func (f *fleet) fetch(key int) (int, error) {
	time.Sleep(f.load())
	f.db.mu.Lock()
	versions := f.db.keys[key].versions
	number := len(versions) - 1
	absent := versions[number].absent
	f.db.mu.Unlock()
	time.Sleep(f.load())
	if absent {
		return 0, near.ErrNotFound
	}
	return number, nil
}

func (f *fleet) fetchMany(keys []int) (map[int]int, error) {
	fetched := map[int]int{}
	for _, key := range keys {
		if value, err := f.fetch(key); err == nil {
			fetched[key] = value
		}
	}
	return fetched, nil
}

// write writes the database and then changes the store: by an instance, or past all of
// them if one is nil.
func (f *fleet) write(ctx context.Context, one *instance, key int) {
	h := &f.db.keys[key]
	h.writing <- struct{}{}
	defer func() { <-h.writing }()
	absent := f.setup.NotFound && f.below(4) == 0
	f.db.mu.Lock()
	number := len(h.versions)
	h.versions = append(h.versions, version{absent: absent, by: one})
	f.db.mu.Unlock()
	var err error
	var tried, gone time.Time
	switch n := f.below(8); {
	case one == nil:
		err = f.server.Del(ctx, textsOf(key)...)
	case !absent && n < 2:
		err = one.Set(ctx, key, number)
	case n < 4:
		switch n {
		case 2:
			err = one.Revoke(ctx, key)
		default:
			_, err = one.DelPrefix(ctx, strconv.Itoa(key))
		}
		if err == nil {
			gone = time.Now()
		}
	default:
		if err = one.Del(ctx, key); err != nil {
			tried = time.Now()
		}
	}
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	h.versions[number].gone = gone
	if h.versions[number].tried = tried; err == nil {
		h.versions[number].told = time.Now()
	}
}

// judge notes an answer that is wrong: one that a later write, which had returned before
// the window before the call began, should have ended; or that was never true; or, if this instance wrote,
// had returned before the call began.
func (f *fleet) judge(one *instance, op string, key int, began time.Time, window time.Duration, value int, ok bool, err error) {
	absent := !ok || errors.Is(err, near.ErrNotFound)
	if err != nil && !absent {
		if op != "Get" || !errors.Is(err, near.ErrStore) { // the others bypass it
			f.problem("%s of %d: %v", op, key, err)
		}
		return
	}
	if op == "Get" && absent {
		return // that the store has nothing says nothing about the database
	}
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	f.answers++
	versions := f.db.keys[key].versions
	if !absent {
		if value < 0 || value >= len(versions) || versions[value].absent {
			f.problem("%s of %d = %d, which it never was", op, key, value)
		} else if why := f.stale(one, versions[value+1:], began, window); why != "" {
			f.problem("%s of %d = %d at %v: %s", op, key, value, began.UnixMilli(), why)
		}
		return
	}
	why := "it always had a value"
	for i, v := range versions {
		if v.absent {
			if why = f.stale(one, versions[i+1:], began, window); why == "" {
				return
			}
		}
	}
	f.problem("%s of %d found nothing at %v: %s", op, key, began.UnixMilli(), why)
}

// stale says which of the versions after an answer shows that it is stale, or "".
func (f *fleet) stale(one *instance, after []version, began time.Time, window time.Duration) string {
	for _, v := range after {
		if v.by == one && !v.tried.IsZero() && v.tried.Before(began) && !f.setup.ServeOn {
			return fmt.Sprintf("its own Del failed %v before", began.Sub(v.tried))
		}
		if !v.gone.IsZero() && v.gone.Before(began) && !f.setup.ServeOn {
			return fmt.Sprintf("another was revoked %v before", began.Sub(v.gone))
		}
		if v.told.IsZero() {
			continue
		}
		if v.told.Before(began.Add(-window)) {
			return fmt.Sprintf("another was told %v before", began.Sub(v.told))
		}
		if v.by == one && v.told.Before(began) && !f.setup.ServeOn {
			return fmt.Sprintf("its own write returned %v before", began.Sub(v.told))
		}
	}
	return ""
}

func (f *fleet) takeMany(ctx context.Context, one *instance) {
	began := time.Now()
	keys := []int{f.below(modelKeys), f.below(modelKeys), f.below(modelKeys)}
	take := one.FetchMany
	if !f.setup.Loader || f.below(2) == 0 {
		take = func(ctx context.Context, keys []int) (map[int]int, error) {
			return one.TakeMany(ctx, keys, func(_ context.Context, missing []int) (map[int]int, error) { return f.fetchMany(missing) })
		}
	}
	values, err := take(ctx, keys)
	if err != nil {
		f.problem("TakeMany of %v: %v", keys, err)
		return
	}
	for _, key := range keys {
		value, ok := values[key]
		var absent error
		if !ok {
			absent = near.ErrNotFound
		}
		f.judge(one, "TakeMany", key, began, f.window, value, true, absent)
	}
}

// TestModel runs fleets with delays, losses, disorder between the two connections, and
// failures. What any caller got was true at some moment of its call or of the MaxLag
// before it, and after a write of its own instance it never got what was before.
//
// Catches: every break of the chain from a change to the caches that must hear of it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := runFleet(t, drawSetup(r))
		if f.audits.Violations > 0 {
			r.Fatalf("%+v", f.audits)
		}
		if len(f.problems) > 0 {
			r.Fatalf("%d of %d answers are wrong, such as: %s", len(f.problems), f.answers, f.problems[0])
		}
	})
}

// TestModelNotices runs the model with a source that vouches but leaves out 85 of 100
// changes: it must find wrong answers.
func TestModelNotices(t *testing.T) {
	f := runFleet(t, setup{Seed: 1, Delay: 1, Load: 1, MaxLag: 100, Lease: 1000, Lying: 85})
	if len(f.problems) == 0 {
		t.Errorf("none of %d answers is wrong", f.answers)
	}
	f = runFleet(t, setup{Seed: 1, Delay: 1, Load: 1, MaxLag: 100, Lease: 1000})
	if len(f.problems) > 0 || f.localHits < uint64(f.answers)/4 {
		t.Errorf("with the truth: %d of %d answers are wrong, %d are from here", len(f.problems), f.answers, f.localHits)
	}
}
