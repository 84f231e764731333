package redis

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A mastership is what a Sentinel has said lately about the master that is read. A master on the
// smaller side of a partition may be replaced without knowing it, and would answer on with what
// was written before. So while somebody watches, it is read and written only for MaxLag after a
// Sentinel with a quorum has named it.
type mastership struct {
	mu      sync.Mutex // guards what follows
	watches int        // calls of Watch under way
	maxLag  time.Duration
	named   time.Time     // when the Sentinel was asked that has named it
	again   chan struct{} // closed when it is named again; nil while nobody waits
}

var errUnnamed = errors.New("near/redis: for MaxLag no Sentinel with a quorum has named the master, which may be replaced")

// watch begins a watch, which has to name the master within maxLag. It ends with stop.
func (m *mastership) watch(maxLag time.Duration) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches++
	if m.watches == 1 {
		m.named, m.maxLag = time.Now(), maxLag
	}
	m.maxLag = min(m.maxLag, maxLag)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watches--
		m.wake()
	}
}

// name records that the Sentinel has named the master that is read, when it was asked at asked.
func (m *mastership) name(asked time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if asked.After(m.named) {
		m.named = asked
		m.wake()
	}
}

// wake lets those that wait look again. m.mu must be held.
func (m *mastership) wake() {
	if m.again != nil {
		close(m.again)
		m.again = nil
	}
}

// wait returns when the master may be read. After a pause of the whole process that is when the
// Sentinel has answered again. It waits for MaxLag at most, and then returns errUnnamed.
func (m *mastership) wait(ctx context.Context) error {
	var late <-chan time.Time
	for {
		again, maxLag := m.unnamed()
		if again == nil {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(maxLag)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-again:
		case <-late:
			return errUnnamed
		case <-ctx.Done():
			return errors.Join(errUnnamed, context.Cause(ctx))
		}
	}
}

// unnamed returns a channel that is closed when the master has been named again, or nil if it
// may be read now.
func (m *mastership) unnamed() (again <-chan struct{}, maxLag time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watches == 0 || time.Since(m.named) < m.maxLag {
		return nil, 0
	}
	if m.again == nil {
		m.again = make(chan struct{})
	}
	return m.again, m.maxLag
}
