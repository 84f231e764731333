package gozero

import (
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A merged watcher is told by several sources, and tells one watcher what all of them
// vouch for.
type merged struct {
	mu     sync.Mutex // held while to is told: that is by one goroutine at a time
	to     near.Watcher
	open   []bool      // between ChangedAll and Lost of each source
	asOf   []time.Time // what each has vouched for since it is open
	onLost func(error) // called when the first of them is lost
}

func (m *merged) allOpen() bool { return !slices.Contains(m.open, false) }

// A member is what one of the sources tells.
type member struct {
	*merged
	i int
}

// MaxLag is for the sources, which vouch in time.
func (m member) MaxLag() time.Duration { return near.MaxLag(m.to) }

func (m member) Changed(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to.Changed(keys...)
}

// ChangedAll is passed on when all changes are told from now on: not before.
func (m member) ChangedAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[m.i] = true
	if m.allOpen() {
		m.to.ChangedAll()
	}
}

func (m member) Current(asOf time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asOf[m.i] = asOf
	if oldest := slices.MinFunc(m.asOf, time.Time.Compare); m.allOpen() && !oldest.IsZero() {
		m.to.Current(oldest)
	}
}

func (m member) Lost(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allOpen() {
		m.onLost(err)
	}
	m.open[m.i], m.asOf[m.i] = false, time.Time{}
	m.to.Lost(err)
}
