package gozero

import (
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A merged passes the messages of several sources on to one watcher, and vouches for what
// all of them vouch for.
type merged struct {
	mu     sync.Mutex // held during calls of to, so that there is one at a time
	to     near.Watcher
	open   []bool      // between ChangedAll and Lost of each source
	asOf   []time.Time // the moment for which each has vouched since it is open, or zero
	onLost func(error) // called when the first source is lost, or was never reached
	lost   bool        // onLost was called since all were open
}

func (m *merged) allOpen() bool { return !slices.Contains(m.open, false) }

// A member is the watcher of source i.
type member struct {
	*merged
	i int
}

// MaxLag is found by the function near.MaxLag.
func (m member) MaxLag() time.Duration { return near.MaxLag(m.to) }

func (m member) Changed(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to.Changed(keys...)
}

// ChangedAll is passed on only when all sources are open.
func (m member) ChangedAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[m.i] = true
	if m.allOpen() {
		m.lost = false
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
	if !m.lost {
		m.lost = true
		m.onLost(err)
	}
	m.open[m.i], m.asOf[m.i] = false, time.Time{}
	m.to.Lost(err)
}
