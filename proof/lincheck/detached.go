package lincheck

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// An aside records the loads of a Detached subject, which may run while no client waits. A
// load begins between the call of its Take and that of its fetch. It ends some time after
// the fetch, but before any client has its result.
type aside struct {
	*round
	mu    sync.Mutex
	ops   []Op
	loads int64
}

// takeDetached records a Take as one operation, whether or not it fetched.
func (c *client) takeDetached(op Op) {
	op.Call = c.now()
	began := op // fetch may read it later
	value, err := c.subject.Take(op.Key, func() (int64, error) { return c.aside.fetch(began) })
	op.Return = c.now()
	op.Got = got(value, err)
	c.ops = append(c.ops, op)
}

// fetch is the fetch of a Take that began at the call of op.
func (a *aside) fetch(op Op) (int64, error) {
	load := a.begin(op)
	a.idleAway()
	if rand.IntN(8) == 0 {
		load.Value = -load.Value
	}
	a.end(load)
	if load.Value < 0 {
		return 0, failure(load.Value)
	}
	return load.Value, nil
}

// fetchMany is the fetch of a TakeMany that began at the call of op. It leaves some keys out
// and sometimes fails, with one error for all.
func (a *aside) fetchMany(op Op, missing []int) (map[int]int64, error) {
	values := make(map[int]int64)
	var loads []Op
	for _, key := range missing {
		op.Key = key
		loads = append(loads, a.begin(op))
	}
	a.idleAway()
	fails := rand.IntN(8) == 0
	var err error
	for _, load := range loads {
		switch {
		case fails:
			load.Value = -loads[0].Load
			err = failure(load.Value)
		case rand.IntN(4) == 0:
			load.Value, load.Absent = -load.Load, true
		default:
			values[load.Key] = load.Value
		}
		a.end(load)
	}
	return values, err
}

// begin returns the operation with which a load begins.
func (a *aside) begin(op Op) Op {
	op.Kind, op.Return, op.Beside = TakeBegins, a.now(), true
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loads++
	op.Load = a.base + (maxClients<<12+a.loads)<<10 + a.loads&1 // like that of another client
	op.Value = op.Load
	return op
}

// end records that a load began, and that its fetch is about to return.
func (a *aside) end(load Op) {
	load.Got = load.Value
	ends := load
	ends.Kind, ends.Call = TakeEnds, a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ops = append(a.ops, load, ends)
}

// ended returns the loads, all of which have ended, after a history.
func (a *aside) ended(history []Op) []Op {
	had := make(map[int64]int64) // when a client first had each value
	for _, op := range history {
		if at, ok := had[op.Got]; !ok || op.Return < at {
			had[op.Got] = op.Return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.ops {
		if op := &a.ops[i]; op.Kind == TakeEnds {
			op.Return = a.now()
			if at, ok := had[op.Value]; ok {
				op.Return = max(op.Call, at)
			}
		}
	}
	a.number()
	return a.ops
}

// number gives the loads of a key that may have overlapped different numbers of clients. If
// there are too few, a load gets the number of the one whose fetch ended first: that load
// has ended, unless the cache runs so many at once.
func (a *aside) number() {
	last := make(map[int]*[maxLoads]Op) // the last one with each number, by key
	pairs := slices.SortedFunc(slices.Chunk(a.ops, 2), func(a, b []Op) int { return cmp.Compare(a[0].Call, b[0].Call) })
	for _, pair := range pairs {
		begins, ends := &pair[0], &pair[1]
		of := last[begins.Key]
		if of == nil {
			of = new([maxLoads]Op)
			last[begins.Key] = of
		}
		n := slices.IndexFunc(of[:], func(ends Op) bool { return ends.Return < begins.Call })
		if n < 0 {
			n = 0
			for i := range of {
				if of[i].Call < of[n].Call {
					n = i
				}
			}
		}
		begins.Client, ends.Client = maxClients+n, maxClients+n
		of[n] = *ends
	}
}

// idleAway is pause without a client.
func (a *aside) idleAway() {
	switch rand.IntN(8) {
	case 0, 1, 2:
		runtime.Gosched()
	case 3:
		time.Sleep(time.Duration(rand.Int64N(int64(max(a.Nap, 50*time.Microsecond)))))
	}
}
