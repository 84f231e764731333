package gozero

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A merged passes the messages of several sources, each of which tells of some keys, on to one
// watcher. It vouches for the keys of the sources that vouch. Those of the others are forgotten,
// and are not covered meanwhile.
type merged struct {
	mu     sync.Mutex // held during calls of to, so that there is one at a time
	to     near.Watcher
	parts  []part
	open   bool        // since a source is connected
	onLost func(error) // called when a source is lost, or was never reached
}

// A part is one of the sources.
type part struct {
	has       func(key string) bool // whether it tells of a key
	untold    func(key string) bool // of its keys, those of which it does not tell; nil: none
	covered   *atomic.Bool          // it has vouched lately: memory may have its keys
	connected bool                  // between ChangedAll and Lost
	lost      bool                  // onLost was called since
	asOf      time.Time             // the moment for which it has vouched
}

// A member is the watcher of source i.
type member struct {
	*merged
	i int
}

var (
	_ near.KeyWatcher = member{}
	_ near.LagWatcher = member{}
)

func (m member) MaxLag() time.Duration { return near.MaxLag(m.to) }

func (m member) Changed(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to.Changed(keys...)
}

func (m member) Except(untold func(key string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts[m.i].untold = untold
	parts := slices.Clone(m.parts)
	near.Except(m.to, func(key string) bool {
		return slices.ContainsFunc(parts, func(p part) bool { return p.untold != nil && p.has(key) && p.untold(key) })
	})
}

func (m member) ChangedIf(changed func(key string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	has := m.parts[m.i].has
	near.ChangedIf(m.to, func(key string) bool { return has(key) && changed(key) })
}

func (m member) ChangedAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.parts[m.i]
	p.connected, p.lost = true, false
	if p.covered.Load() {
		near.ChangedIf(m.to, p.has)
	}
	if !m.open {
		m.open = true
		m.to.ChangedAll()
	}
}

// Current is not held up by a source that is silent.
func (m member) Current(asOf time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.parts[m.i]
	if !p.connected {
		return
	}
	p.asOf = asOf
	p.covered.Store(true)
	oldest := asOf
	for i := range m.parts {
		switch q := &m.parts[i]; {
		case !q.covered.Load():
		case asOf.Sub(q.asOf) > m.MaxLag()/2:
			m.uncover(q)
		case q.asOf.Before(oldest):
			oldest = q.asOf
		}
	}
	m.to.Current(oldest)
}

func (m member) Lost(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.parts[m.i]
	if !p.lost {
		p.lost = true
		m.onLost(err)
	}
	p.connected = false
	m.uncover(p)
	if slices.ContainsFunc(m.parts, func(q part) bool { return q.connected }) {
		return
	}
	m.open = false
	m.to.Lost(err)
}

// uncover forgets the keys of a source, and keeps them out of memory. mu must be held.
func (m *merged) uncover(p *part) {
	if p.covered.Swap(false) {
		near.ChangedIf(m.to, p.has)
	}
}
