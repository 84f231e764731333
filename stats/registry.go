package stats

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// caches is the registry of the process.
var caches registry

// Named is the [Snapshot] of one registered cache. Its Name is valid UTF-8, not
// empty, and differs from that of every other cache registered at the time.
type Named struct {
	Name     string
	Snapshot Snapshot
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
	return caches.register(name, source)
}

// All takes a [Snapshot] of every registered cache and returns them sorted by
// name. It is safe for concurrent use. Each Snapshot is consistent in itself;
// they are taken one after the other, not at the same moment.
func All() []Named {
	return caches.all()
}

// A registry is a set of sources by unique name. The zero registry is empty and
// ready to use.
type registry struct {
	mu     sync.Mutex
	byName map[string]*registration // guarded by mu; nil until the first register
}

// A registration is one source in a registry. Its address tells it from a later
// one of the same name.
type registration struct {
	name   string
	source func() (Snapshot, bool)
}

func (r *registry) register(name string, source func() (Snapshot, bool)) (string, func()) {
	if source == nil {
		panic("stats: Register with a nil source")
	}
	// Before it is made unique: two names may differ in invalid bytes only.
	name = strings.ToValidUTF8(name, "\uFFFD")
	if name == "" {
		name = "cache"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = make(map[string]*registration)
	}
	added := &registration{name: r.freeName(name), source: source}
	r.byName[added.name] = added
	return added.name, func() { r.remove(added) }
}

// freeName returns name, or name with the lowest suffix that makes it unique. It
// must be called with r.mu held.
func (r *registry) freeName(name string) string {
	unique := name
	for n := 2; r.byName[unique] != nil; n++ {
		unique = name + "-" + strconv.Itoa(n)
	}
	return unique
}

// remove takes old out, unless it is out already.
func (r *registry) remove(old *registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[old.name] == old {
		delete(r.byName, old.name)
	}
}

func (r *registry) all() []Named {
	registered := r.registered()
	named := make([]Named, 0, len(registered))
	for _, reg := range registered {
		// No lock is held here: a source takes the locks of its cache, and a
		// cache may register or unregister while it holds them.
		if snapshot, ok := reg.source(); ok {
			named = append(named, Named{Name: reg.name, Snapshot: snapshot})
		} else {
			r.remove(reg)
		}
	}
	return named
}

// registered returns what is registered now, sorted by name.
func (r *registry) registered() []*registration {
	r.mu.Lock()
	regs := make([]*registration, 0, len(r.byName))
	for _, reg := range r.byName {
		regs = append(regs, reg)
	}
	r.mu.Unlock()
	slices.SortFunc(regs, func(a, b *registration) int { return cmp.Compare(a.name, b.name) })
	return regs
}
