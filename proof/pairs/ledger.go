package pairs

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A ledger counts what happens in a round, to compare it with what the cache promises. It
// has a clock of its own, which ticks with each of its entries.
type ledger struct {
	mu     sync.Mutex
	clock  uint64
	active int               // calls of functions of the user
	begun  int               // likewise, in all
	places map[uint64]uint64 // likewise, at each place

	gets, unsure uint64 // that must be counted as hits or misses, and that may be

	changing [keys]int    // calls that may change a key, under way
	changed  [keys]uint64 // when the last of them began or ended
	fetching [keys][]uint64
	closed   bool // Close was called

	taking [keys]int         // Takes of a key, under way
	unread map[uint64]unread // values that nobody waits for

	told     map[uint64]cache.Cause // the values that OnRemove was called for
	toldSync map[uint64]cache.Cause // likewise OnRemoveSync
	restored map[uint64]bool        // the values that decode has returned
	outburst uint64                 // how often these two panicked or called Goexit
}

func newLedger() *ledger {
	return &ledger{places: map[uint64]uint64{}, unread: map[uint64]unread{}, told: map[uint64]cache.Cause{}, toldSync: map[uint64]cache.Cause{}, restored: map[uint64]bool{}}
}

// An unread value is the result of a load that nobody waits for, whose entry was evicted
// meanwhile. It must not be stored, as it would evict what evicted it.
type unread struct {
	keys []int     // of its fetch: who waits for one of them waits for all
	at   time.Time // when fetch returned it
}

func (l *ledger) tickLocked() uint64 { l.clock++; return l.clock }

func (l *ledger) tick() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tickLocked()
}

// entered counts a call of a function of the user. It returns how many there were before at
// the same place.
func (l *ledger) entered(place uint64) (before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
	l.begun++
	l.places[place]++
	return l.places[place] - 1
}

func (l *ledger) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
}

// quiet reports whether no function of the user is active, and how many have been called.
func (l *ledger) quiet() (yes bool, begun int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active == 0, l.begun
}

// gets counts gets.
func (l *ledger) get(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gets += uint64(n)
}

// maybeGet counts gets of a call that may fail before it gets anything.
func (l *ledger) maybeGet(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsure += uint64(n)
}

var allKeys = func() (all []int) {
	for key := range keys {
		all = append(all, key)
	}
	return all
}()

// change is called before a call that may change some keys, and what it returns afterwards.
func (l *ledger) change(of ...int) (end func()) {
	count := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := l.tickLocked()
		for _, key := range of {
			if key < keys {
				l.changing[key] += n
				l.changed[key] = now
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// close is called before a call of Close.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// fetch is called at the beginning of a fetch, and what it returns at its end. since is when
// the call began that it is for. ok is false if another fetch of a key runs, though nobody
// may have changed the key since that one began.
func (l *ledger) fetch(since uint64, of []int) (end func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = true
	for _, key := range of {
		for _, began := range l.fetching[key] {
			if l.changing[key] == 0 && l.changed[key] < min(began, since) && !l.closed {
				ok = false
			}
		}
		l.fetching[key] = append(l.fetching[key], since)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range of {
			i := slices.Index(l.fetching[key], since)
			l.fetching[key] = slices.Delete(l.fetching[key], i, i+1)
		}
	}, ok
}

// take is called before a Take of some keys, and what it returns afterwards.
func (l *ledger) take(of ...int) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range of {
		l.taking[key]++
		maps.DeleteFunc(l.unread, func(_ uint64, u unread) bool { // it may join the load
			return slices.Contains(u.keys, key) && u.at.Equal(time.Now())
		})
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range of {
			l.taking[key]--
		}
	}
}

// renewed is called before a fetch of some keys returns a value in place of old.
func (l *ledger) renewed(old, v value, of []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	awaited := slices.ContainsFunc(of, func(key int) bool { return l.taking[key] > 0 })
	if l.told[old.id] == cache.Evicted && !awaited {
		l.unread[v.id] = unread{of, time.Now()}
	}
}

// tell is called with an event. It returns what is wrong with it.
func (l *ledger) tell(e cache.Event[int, value]) (wrong string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.told[e.Value.id]; twice {
		wrong = "it has left before"
	}
	if _, ok := l.unread[e.Value.id]; ok {
		wrong = "it was stored, though nobody waited for it, and the old value was evicted"
	}
	l.told[e.Value.id] = e.Cause
	return wrong
}

// tellSync is tell for OnRemoveSync.
func (l *ledger) tellSync(e cache.Event[int, value]) (wrong string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.toldSync[e.Value.id]; twice {
		wrong = "it has left before"
	}
	l.toldSync[e.Value.id] = e.Cause
	return wrong
}

func (l *ledger) restore(v value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restored[v.id] = true
}

func (l *ledger) burst() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outburst++
}
