package stats

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is what the process has registered.
var process registries

// Named is the [Snapshot] of one registered cache. Its Name is valid UTF-8, not
// empty, and differs from that of every other cache registered at the time.
type Named struct {
	Name     string
	Since    time.Time // when it was registered, which tells it from an earlier cache of that name
	Snapshot Snapshot
}

// NamedWheel is the [Wheel] of one registered timing wheel. Its Name is valid
// UTF-8, not empty, and differs from that of every other timing wheel registered
// at the time. A cache may have the same.
type NamedWheel struct {
	Name  string
	Wheel Wheel
}

// Register makes a cache known to [All] and [Handler] until unregister is called
// or source reports false. It is safe for concurrent use.
//
// The registry holds source as long as it knows it, and so everything source
// refers to. To let a cache be collected that nobody holds any more, capture a
// [weak.Pointer] to it in source, never the cache itself, and report false once
// the pointer is nil. The registry then forgets the source the next time it
// looks; a [runtime.AddCleanup] that calls unregister frees the name earlier.
//
// source must be safe for concurrent use. It is called without a lock held, so
// it may take locks of its own, and it may still be called by a look that began
// before unregister did.
//
// Two caches may ask for the same name, but two series with the same labels are
// no valid exposition. So the name is made unique by a suffix, "users",
// "users-2", "users-3" and so on, and returned; it can be had again once it is
// free. Bytes that are not UTF-8 are replaced, and an empty name becomes "cache".
//
// unregister may be called more than once, and from several goroutines.
func Register(name string, source func() (Snapshot, bool)) (unique string, unregister func()) {
	return RegisterExtras(name, source, Extras{})
}

// RegisterExtras is [Register] for a cache that offers more than numbers.
func RegisterExtras(name string, source func() (Snapshot, bool), extras Extras) (unique string, unregister func()) {
	if source == nil {
		panic("stats: Register with a nil source")
	}
	return process.registerCache(name, source, extras)
}

// Extras are what a cache offers to [Handler] beside its numbers. Each function is
// nil if the cache does not offer it, must be safe for concurrent use, and is called
// without a lock held.
type Extras struct {
	// HotKeys returns the keys that are asked for most, the hottest first.
	HotKeys func() []HotKey

	// Purge removes a key, written as text, and returns how many entries that were:
	// 0 or 1. It returns an error if no key is written so.
	Purge func(key string) (removed int, err error)

	// PurgeAll removes all entries, and returns how many those were.
	PurgeAll func() (removed int)
}

// A HotKey is a key that is asked for often.
type HotKey struct {
	Key   string  // as text
	Share float64 // of all gets of late, an estimate from below; 0 to 1
}

// RegisterWheel makes a timing wheel known to [AllWheels] and [Handler] until
// unregister is called or source reports false. It is safe for concurrent use.
//
// All that [Register] says of sources, names and unregister holds here too. The
// names of timing wheels are unique among themselves, whatever caches are called,
// and an empty name becomes "wheel".
func RegisterWheel(name string, source func() (Wheel, bool)) (unique string, unregister func()) {
	if source == nil {
		panic("stats: RegisterWheel with a nil source")
	}
	return process.registerWheel(name, source)
}

// All takes a [Snapshot] of every registered cache and returns them sorted by
// name. It is safe for concurrent use. Each Snapshot is consistent in itself;
// they are taken one after the other, not at the same moment.
func All() []Named {
	return process.allCaches()
}

// AllWheels takes a [Wheel] of every registered timing wheel and returns them
// sorted by name. It is safe for concurrent use. They are taken one after the
// other, not at the same moment.
func AllWheels() []NamedWheel {
	return process.allWheels()
}

// registries are all that a handler serves. The zero registries are empty and
// ready to use.
type registries struct {
	caches registry[Snapshot]
	wheels registry[Wheel]
	sampler
}

// keepHistory has samples taken from now on.
func (r *registries) keepHistory() {
	r.ensure(func(now time.Time) {
		r.caches.sample(now)
		r.wheels.sample(now)
	})
}

func (r *registries) registerCache(name string, source func() (Snapshot, bool), extras Extras) (string, func()) {
	return r.caches.register(cmp.Or(name, "cache"), source, extras)
}

func (r *registries) registerWheel(name string, source func() (Wheel, bool)) (string, func()) {
	return r.wheels.register(cmp.Or(name, "wheel"), source, Extras{})
}

func (r *registries) allCaches() []Named {
	looks := r.caches.all(time.Now())
	all := make([]Named, len(looks))
	for i, l := range looks {
		all[i] = Named{Name: l.name, Since: l.since, Snapshot: l.stats}
	}
	return all
}

func (r *registries) allWheels() []NamedWheel {
	looks := r.wheels.all(time.Now())
	all := make([]NamedWheel, len(looks))
	for i, l := range looks {
		all[i] = NamedWheel{Name: l.name, Wheel: l.stats}
	}
	return all
}

// A registry is a set of sources of S, a [Snapshot] or a [Wheel], by unique name.
// The zero registry is empty and ready to use.
type registry[S any] struct {
	mu     sync.Mutex
	byName map[string]*registration[S] // guarded by mu; nil until the first register

	// lowest has, for a name without its suffix, the lowest suffix that may be free,
	// where that is not 1, which stands for none: or else to make the thousandth
	// cache of a name would try a thousand suffixes. It is guarded by mu.
	lowest map[string]int
}

// A registration is one source in a registry. Its address tells it from a later
// one of the same name.
type registration[S any] struct {
	name    string
	asked   string // the name without the suffix
	suffix  int    // 1 if there is none
	since   time.Time
	source  func() (S, bool)
	extras  Extras     // of a cache
	history history[S] // guarded by the registry's mu
}

// A look is what one source reported at a time, with the samples taken before.
type look[S any] struct {
	*registration[S]
	at      time.Time
	stats   S
	samples []sample[S] // as of then; none before anybody keeps a history
}

// register adds source, which must not be nil, under a name made of name, which
// must not be empty.
func (r *registry[S]) register(name string, source func() (S, bool), extras Extras) (string, func()) {
	// Before it is made unique: two names may differ in invalid bytes only.
	name = strings.ToValidUTF8(name, "\uFFFD")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = make(map[string]*registration[S])
		r.lowest = make(map[string]int)
	}
	added := &registration[S]{asked: name, since: time.Now(), source: source, extras: extras}
	added.name, added.suffix = r.freeName(name)
	r.byName[added.name] = added
	return added.name, func() { r.remove(added) }
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

// remove takes old out, unless it is out already.
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

// all asks every source, and returns what they reported sorted by name.
func (r *registry[S]) all(now time.Time) []look[S] {
	registered := r.registered()
	looks := make([]look[S], 0, len(registered))
	for _, reg := range registered {
		// No lock is held here: a source takes the locks of its cache or wheel,
		// which may register or unregister while it holds them.
		if stats, ok := reg.source(); ok {
			looks = append(looks, look[S]{reg, now, stats, r.samples(reg)})
		} else {
			r.remove(reg)
		}
	}
	return looks
}

func (r *registry[S]) samples(reg *registration[S]) []sample[S] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return reg.history.samples
}

// sample adds what every source reports now to its history.
func (r *registry[S]) sample(now time.Time) {
	for _, l := range r.all(now) {
		r.mu.Lock()
		l.history.add(sample[S]{now, l.stats})
		r.mu.Unlock()
	}
}

// registered returns what is registered now, sorted by name.
func (r *registry[S]) registered() []*registration[S] {
	r.mu.Lock()
	regs := make([]*registration[S], 0, len(r.byName))
	for _, reg := range r.byName {
		regs = append(regs, reg)
	}
	r.mu.Unlock()
	slices.SortFunc(regs, func(a, b *registration[S]) int { return cmp.Compare(a.name, b.name) })
	return regs
}
