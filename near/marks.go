package near

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// Marks is for those who write a [Marker] over a server that counts. A mark is a count, with the
// name of what counts, its epoch; when the count may go back, the epoch is another one. The moment at
// which this process knew of that count, or of a higher one, comes after the mark. Its methods are safe
// for concurrent use, and the zero Marks knows nothing.
type Marks struct {
	mu    sync.Mutex
	epoch string
	known []knownCount // in the order of their counts
}

type knownCount struct {
	count uint64
	by    time.Time // when the answer came
}

// mostKnown is how many moments are kept. A mark older than they are gets the first one of them, so
// it costs at most a load more than it must.
const mostKnown = 32

// Heard records that an epoch had reached a count by some moment of this process, such as now.
func (m *Marks) Heard(epoch string, count uint64, by time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch {
		m.epoch, m.known = epoch, nil
	}
	if n := len(m.known); n > 0 && m.known[n-1].count >= count {
		return // known earlier
	}
	if len(m.known) == mostKnown {
		m.known = append(m.known[:0], m.known[1:]...)
	}
	m.known = append(m.known, knownCount{count, by})
}

// Mark returns the mark of a count. An epoch has no dot, and no character that a cookie may not have.
func (m *Marks) Mark(epoch string, count uint64) Mark {
	return Mark(epoch + "." + strconv.FormatUint(count, 10))
}

// Moment returns the first known moment after a mark, as [Marker] wants it.
func (m *Marks) Moment(mark Mark) (time.Time, bool) {
	epoch, text, _ := strings.Cut(string(mark), ".")
	count, err := strconv.ParseUint(text, 10, 64)
	if err != nil || epoch == "" {
		return time.Time{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch {
		return time.Time{}, false
	}
	for _, one := range m.known {
		if one.count >= count {
			return one.by, true
		}
	}
	return time.Time{}, false
}
