package lincheck

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// An aside notes the loads of a Detached subject, which may run when no client waits for
// them. A load begins between the call of the Take that began it and that of its fetch, and
// ends after its fetch: nobody is told when. But it had ended when somebody had its result.
type aside struct {
	*round
	mu    sync.Mutex
	ops   []Op
	loads int64
}

// takeDetached notes a Take as one operation, however it came by its answer.
func (c *client) takeDetached(op Op) {
	op.Call = c.now()
	began := op // fetch may read it later
	value, err := c.subject.Take(op.Key, func() (int64, error) { return c.aside.fetch(began) })
	op.Return = c.now()
	op.Got = value
	if err != nil {
		op.Got = Torn // unless it is an error of ours
		var f failure
		if errors.As(err, &f) {
			op.Got = int64(f)
		}
	}
	c.ops = append(c.ops, op)
}

// fetch is that of a Take that began at the call of op.
func (a *aside) fetch(op Op) (int64, error) {
	load := a.begin(op)
	a.idleAway()
	if rand.IntN(8) == 0 && !a.subject.NoErrors {
		load.Value = -load.Value
	}
	a.end(load)
	if load.Value < 0 {
		return 0, failure(load.Value)
	}
	return load.Value, nil
}

// fetchMany is that of a TakeMany that began at the call of op. Some keys have no value,
// and at times it fails, with one error for all.
func (a *aside) fetchMany(op Op, missing []int) (map[int]int64, error) {
	values := make(map[int]int64)
	var loads []Op
	for _, key := range missing {
		op.Key = key
		loads = append(loads, a.begin(op))
	}
	a.idleAway()
	fails := rand.IntN(8) == 0 && !a.subject.NoErrors
	var err error
	for _, load := range loads {
		switch {
		case fails:
			load.Value = -loads[0].Load
			err = failure(load.Value)
		case rand.IntN(4) == 0 && !a.subject.NoErrors:
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
	op.Kind, op.Return, op.Beside = Board, a.now(), true
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loads++
	op.Load = a.base + (maxClients<<12+a.loads)<<10 + a.loads&1 // as that of a further client
	op.Value = op.Load
	return op
}

// end notes that a load began, and that its fetch is about to return.
func (a *aside) end(load Op) {
	load.Got = load.Value
	land := load
	land.Kind, land.Call = Land, a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ops = append(a.ops, load, land)
}

// landed returns the loads, all of which have ended, after a history.
func (a *aside) landed(history []Op) []Op {
	had := make(map[int64]int64) // since when somebody had a value
	for _, op := range history {
		if at, ok := had[op.Got]; !ok || op.Return < at {
			had[op.Got] = op.Return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.ops {
		if op := &a.ops[i]; op.Kind == Land {
			op.Return = a.now()
			if at, ok := had[op.Value]; ok {
				op.Return = max(op.Call, at)
			}
		}
	}
	a.number()
	return a.ops
}

// number gives the loads of a key that may have run at the same time numbers of clients of
// their own, as far as there are enough. If not, the one with the number whose fetch has
// ended first has in fact ended, unless the cache runs as many at once.
func (a *aside) number() {
	last := make(map[int]*[maxLoads]Op) // the last one with each number, by key
	pairs := slices.SortedFunc(slices.Chunk(a.ops, 2), func(a, b []Op) int { return cmp.Compare(a[0].Call, b[0].Call) })
	for _, pair := range pairs {
		board, land := &pair[0], &pair[1]
		of := last[board.Key]
		if of == nil {
			of = new([maxLoads]Op)
			last[board.Key] = of
		}
		n := slices.IndexFunc(of[:], func(land Op) bool { return land.Return < board.Call })
		if n < 0 {
			n = 0
			for i := range of {
				if of[i].Call < of[n].Call {
					n = i
				}
			}
		}
		board.Client, land.Client = maxClients+n, maxClients+n
		of[n] = *land
	}
}

// idleAway is the pause of who has no client.
func (a *aside) idleAway() {
	switch rand.IntN(8) {
	case 0, 1, 2:
		runtime.Gosched()
	case 3:
		time.Sleep(time.Duration(rand.Int64N(int64(max(a.Nap, 50*time.Microsecond)))))
	}
}
