package neartest

import (
	"sort"
	"sync"
	"time"
)

// An oracle knows the versions of all rows, and when they were acknowledged. All times are of this
// process.
type oracle struct {
	mu    sync.Mutex
	last  []int       // the highest version of a row that somebody tried to write
	acked [][]version // in order, as a row has one writer
	total int
}

type version struct {
	number int
	acked  time.Time
}

func (o *oracle) next(row int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[row]++
	return o.last[row]
}

func (o *oracle) acknowledge(row, number int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acked[row] = append(o.acked[row], version{number, time.Now()})
	o.total++
}

func (o *oracle) written() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// staleness returns how long before a moment the next version after one was acknowledged: 0 if
// none was.
func (o *oracle) staleness(row, number int, at time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	acked := o.acked[row]
	next := sort.Search(len(acked), func(i int) bool { return acked[i].number > number })
	if next < len(acked) && acked[next].acked.Before(at) {
		return at.Sub(acked[next].acked)
	}
	return 0
}
