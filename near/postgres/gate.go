package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A transaction is one whose changes wait until they can be read: a commit is in the log first,
// and visible afterwards.
type transaction struct {
	xid  uint32
	keys []string
	all  bool // any key may have changed
}

// A gate holds transactions back until a snapshot shows them.
type gate struct {
	mu       sync.Mutex
	waiting  []transaction
	keys     int    // of all that wait
	position uint64 // of the log, up to which all commits were put
	wake     chan struct{}
	limit    int // of keys
}

func newGate(limit int) *gate { return &gate{wake: make(chan struct{}, 1), limit: limit} }

// put adds a transaction. If too many keys wait, any key may have changed.
func (g *gate) put(t transaction) {
	g.mu.Lock()
	g.waiting = append(g.waiting, t)
	if g.keys += len(t.keys); g.keys > g.limit {
		for i := range g.waiting {
			g.waiting[i].all, g.waiting[i].keys = g.waiting[i].all || len(g.waiting[i].keys) > 0, nil
		}
		g.keys = 0
	}
	g.mu.Unlock()
	g.ring()
}

// reach says that all commits before a position have been put.
func (g *gate) reach(position uint64) {
	g.mu.Lock()
	g.position = max(g.position, position)
	g.mu.Unlock()
	g.ring()
}

func (g *gate) ring() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// open removes and returns what a snapshot shows, as one transaction.
func (g *gate) open(s snapshot) (shown transaction) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(t transaction) bool {
		if !s.shows(t.xid) {
			return false
		}
		shown.all = shown.all || t.all
		shown.keys = append(shown.keys, t.keys...)
		g.keys -= len(t.keys)
		return true
	})
	return shown
}

func (g *gate) reached() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.position
}

// holds reports whether transactions wait.
func (g *gate) holds() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// A snapshot says which transactions have ended. It has the lower 32 bits of their ids, as the
// log has: all that can be met are within 2^31 of each other.
type snapshot struct {
	next uint32   // the first id that was not given yet
	open []uint32 // below next
	age  int64    // how many began since the oldest one that is open
}

// parseSnapshot parses the text of a pg_snapshot.
func parseSnapshot(text string) (s snapshot, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return s, fmt.Errorf("near/postgres: a snapshot %q: want three parts", text)
	}
	numbers := parts[:2:2]
	if parts[2] != "" {
		numbers = append(numbers, strings.Split(parts[2], ",")...)
	}
	var ids []uint64
	for _, number := range numbers {
		id, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return s, fmt.Errorf("near/postgres: a snapshot %q: %w", text, err)
		}
		ids = append(ids, id)
	}
	s.next, s.age = uint32(ids[1]), int64(ids[1]-ids[0])
	for _, id := range ids[2:] {
		s.open = append(s.open, uint32(id))
	}
	return s, nil
}

// shows reports whether a transaction has ended, so that whoever reads from now on sees it.
func (s snapshot) shows(xid uint32) bool {
	return int32(xid-s.next) < 0 && !slices.Contains(s.open, xid)
}
