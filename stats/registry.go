package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// registries are what a handler serves. The zero registries are empty and ready to use.
type registries struct {
	caches registry[Snapshot]
	wheels registry[WheelSnapshot]
	sampler
}

func (r *registries) register(source sources.Source) (name string, unregister func()) {
	switch s := source.(type) {
	case sources.Cache[Snapshot]:
		return register(r, &r.caches, &registration[Snapshot]{asked: cmp.Or(s.Name, "cache"), snapshot: s.Snapshot, cache: s})
	case sources.Wheel[WheelSnapshot]:
		return register(r, &r.wheels, &registration[WheelSnapshot]{asked: cmp.Or(s.Name, "wheel"), snapshot: s.Snapshot, wheel: s.Settings})
	}
	panic(fmt.Sprintf("stats: the source of Register is a %T: want a sources.Cache or a sources.Wheel", source))
}

// register adds a source to one of the registries. If histories are kept, it takes a first
// sample, so that the next point has everything that happens from now on.
func register[S any](all *registries, r *registry[S], added *registration[S]) (string, func()) {
	if added.snapshot == nil {
		panic("stats: Snapshot of a source is nil: want a function")
	}
	r.register(added)
	if all.sampling.Load() {
		if l, ok := r.look(added, added.since); ok {
			r.keep(l)
		}
	}
	return added.name, func() { r.remove(added) }
}

// keepHistory starts the samples.
func (r *registries) keepHistory() { r.ensure(!r.sampling.Swap(true), r.tick) }

// tick takes samples, if somebody has asked for them, and else only watches the process.
func (r *registries) tick(now time.Time) {
	if r.sampling.Load() {
		r.caches.sample(now)
		r.wheels.sample(now)
	}
	r.examine(now, true)
}

// A registry is a set of sources of S, a [Snapshot] or a [WheelSnapshot], by unique name.
// The zero registry is empty and ready to use.
type registry[S any] struct {
	mu     sync.Mutex
	byName map[string]*registration[S] // guarded by mu; nil until the first register

	// lowest has, for a name without its suffix, the lowest suffix that may be free,
	// unless that is 1, which stands for none. Without it the thousandth cache of a
	// name would try a thousand suffixes. It is guarded by mu.
	lowest map[string]int
}

// A registration is one source in a registry. Its address tells it from a later
// one of the same name.
type registration[S any] struct {
	name     string
	asked    string // the name without the suffix
	suffix   int    // 1 if there is none
	since    time.Time
	snapshot func() (S, bool)
	cache    sources.Cache[Snapshot] // zero for a wheel
	wheel    sources.WheelSettings   // zero for a cache
	history  history[S]              // guarded by the registry's mu, as is memory
	memory   *memory                 // nil before the first look for findings
}

// A look is a snapshot of one source, with the samples taken before.
type look[S any] struct {
	*registration[S]
	at      time.Time
	stats   *S
	samples history[S] // as of then; none before histories are kept
	found   []finding  // by judge
}

// register adds a source under a name made of the one that it asks for.
func (r *registry[S]) register(added *registration[S]) {
	// Before it is made unique: two names may differ in invalid bytes only.
	added.asked, added.since = shorten(strings.ToValidUTF8(added.asked, "\uFFFD")), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = make(map[string]*registration[S])
		r.lowest = make(map[string]int)
	}
	added.name, added.suffix = r.freeName(added.asked)
	r.byName[added.name] = added
}

// freeName returns name, or name with the lowest suffix that makes it unique. It
// must be called with r.mu held.
func (r *registry[S]) freeName(name string) (unique string, suffix int) {
	for suffix = max(r.lowest[name], 1); ; suffix++ {
		unique = name
		if suffix > 1 {
			unique += "-" + strconv.Itoa(suffix)
		}
		if r.byName[unique] == nil {
			r.lowest[name] = suffix + 1
			return unique, suffix
		}
	}
}

// remove removes old, unless it is removed already.
func (r *registry[S]) remove(old *registration[S]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[old.name] != old {
		return
	}
	delete(r.byName, old.name)
	switch {
	case old.suffix == 1:
		delete(r.lowest, old.asked)
	case old.suffix < r.lowest[old.asked]:
		r.lowest[old.asked] = old.suffix
	}
}

// looks takes a look at each source whose name is wanted, and yields them sorted by name.
func (r *registry[S]) looks(wanted func(name string) bool, now time.Time) []look[S] {
	registered := r.registered(wanted)
	looks := make([]look[S], 0, len(registered))
	for _, reg := range registered {
		if l, ok := r.look(reg, now); ok {
			looks = append(looks, l)
		}
	}
	return looks
}

// look takes a look at one source, and removes it if it reports that it is gone.
func (r *registry[S]) look(reg *registration[S], now time.Time) (l look[S], ok bool) {
	// No lock is held here: a source takes the locks of its cache or wheel, which may
	// register or unregister while it holds them.
	stats, ok := reg.snapshot()
	if !ok {
		r.remove(reg)
		return l, false
	}
	if s, ok := any(&stats).(*Snapshot); ok && reg.cache.Operation != nil {
		s.operation = reg.cache.Operation()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return look[S]{reg, now, &stats, reg.history, nil}, true
}

// sample adds a sample of every source to its history.
func (r *registry[S]) sample(now time.Time) {
	for _, l := range r.looks(everything, now) {
		r.keep(l)
	}
}

// keep adds a sample of a source to its history, and remembers what is wrong.
func (r *registry[S]) keep(l look[S]) {
	r.judge(&l, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	l.history.add(&sample[S]{l.at, *l.stats}, samplesOfEach[S](len(r.byName)))
}

// everything selects every name.
func everything(string) bool { return true }

// registered returns the registrations whose name is wanted, sorted by name.
func (r *registry[S]) registered(wanted func(name string) bool) []*registration[S] {
	r.mu.Lock()
	regs := make([]*registration[S], 0, len(r.byName))
	for name, reg := range r.byName {
		if wanted(name) {
			regs = append(regs, reg)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(regs, func(a, b *registration[S]) int { return cmp.Compare(a.name, b.name) })
	return regs
}

// cacheOf returns the source of the cache with a name.
func (r *registries) cacheOf(name string) (c sources.Cache[Snapshot], ok bool) {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	reg, ok := r.caches.byName[name]
	if ok {
		c = reg.cache
	}
	return c, ok
}
