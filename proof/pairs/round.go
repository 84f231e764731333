package pairs

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A round is a cache with some actors.
type round struct {
	*stage
	t       *testing.T
	dice    dice
	options options
	cache   *cache.Cache[int, value]
	ledger  *ledger
	started time.Time

	keys    int      // of the actors
	methods []method // that they call
	cast    cast     // those who call methods, beside the program
	bursts  bool     // some panic or call Goexit
	crowded bool     // OnRemove is far behind at times

	checking atomic.Bool // nobody acts
	resized  atomic.Bool
	saved    atomic.Pointer[bytes.Buffer] // a snapshot
	last     atomic.Pointer[stats.Snapshot]
	panics   atomic.Uint64 // calls of OnPanic
	amends   atomic.Uint64 // calls of Amend
}

// A stage is what rounds have in common.
type stage struct {
	folder   string
	trace    bool
	absent   []string      // numbers of goroutines of the program that do nothing
	without  []string      // names of methods, contexts, actors and options to leave out
	progress atomic.Uint64 // goes on while a round does
	met      meetings
}

// play plays the round of a seed.
func (s *stage) play(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		r := &round{stage: s, t: t, dice: diceFor(mixed(seed)), ledger: newLedger(), started: time.Now()}
		r.draw(r.dice.at('s'))
		r.begin()
		r.act(0)
		r.quieten()
		r.intermission()
		r.act(1)
		r.quieten()
		r.end()
	})
}

// draw draws what the round is about. A round has few methods and few who act, so that these
// meet often.
func (r *round) draw(d dice) {
	r.options = drawOptions(d)
	r.keys = 1 + d.IntN(keys)
	r.bursts = d.chance(50)
	r.theme(d)
	r.cast = castFor(d, r.crowded)
	for len(r.methods) < 3+d.IntN(8) {
		if m := drawMethod(d); !slices.Contains(r.without, m.name) {
			r.methods = append(r.methods, m)
		}
	}
	o := &r.options
	o.OnPanic = r.onPanic
	if o.MaxWeight > 0 {
		o.Weigh = r.weigh
	}
	if d.chance(40) || r.crowded {
		o.OnRemove = r.onRemove
	}
	if d.chance(25) {
		o.OnRemoveSync = r.onRemoveSync
	}
	if d.chance(40) {
		o.Negative = r.negative
	}
	if d.chance(15) {
		o.Amend = r.amend
	}
	switch d.IntN(3) {
	case 0:
		o.Load = loadOne
	case 1:
		o.LoadMany = loadMany
	default:
		o.Load, o.LoadMany = loadOne, loadMany
	}
	for _, name := range r.without {
		if _, acts := r.cast[name]; acts {
			r.cast[name] = false
		} else if option := reflect.ValueOf(o).Elem().FieldByName(name); option.IsValid() {
			option.SetZero()
		}
	}
}

// theme draws options that belong together, for what is rare otherwise.
func (r *round) theme(d dice) {
	o := &r.options
	switch n := d.IntN(100); {
	case n < 8 && !slices.Contains(r.without, "crowds"): // loads meet an OnRemove that is far behind
		r.crowded = true
		o.MaxLoads, o.Workers, o.Timeout = one(d, 0, 1, 1, 2), one(d, 1, 2), one(d, 0, 0, 0, 200*ms)
	case n < 14: // entries are evicted while they are loaded anew
		o.Limit, o.MaxWeight, o.Expire, o.Grace, o.Timeout = 1, 0, 10*ms, time.Second, 40*ms
		o.OnRemove = r.onRemove
		for _, m := range methods {
			if m.name == "TakeWith" || m.name == "TakeMany" || m.name == "TakeManyWith" || m.name == "Set" {
				r.methods = append(r.methods, m)
			}
		}
	}
}

// begin makes the cache, with some entries in it.
func (r *round) begin() {
	c, err := cache.New(r.options)
	if err != nil {
		r.t.Fatalf("New(%s): %v", text(r.options), err)
	}
	r.cache = c
	r.tracef("%s, %d keys, crowded %t", text(r.options), r.keys, r.crowded)
	a := r.program(-1)
	for key := range a.IntN(r.keys + 1) {
		alone(func() {
			defer r.ledger.change(key)()
			c.Set(key, a.value(key))
		})
	}
	r.save()
	if a.chance(60) {
		a.rest() // so that some are due, in Grace or gone
	}
}

// save keeps a snapshot for the calls of Restore.
func (r *round) save() {
	var b bytes.Buffer
	err := r.cache.Save(&b, func(dst []byte, _ int, v value) ([]byte, error) { return v.encoded(dst), nil })
	if err != nil {
		r.failf("Save: %v", err)
	}
	r.saved.Store(&b)
}

// alone calls f on a goroutine of its own, which Weigh may end.
func alone(f func()) {
	var all sync.WaitGroup
	all.Go(func() {
		defer func() {
			p := recover()
			if _, ours := p.(*outburst); p != nil && !ours {
				panic(p)
			}
		}()
		f()
	})
	all.Wait()
}

// act has some goroutines call methods.
func (r *round) act(number int) {
	var all sync.WaitGroup
	for n := range 3 + r.dice.at('g', uint64(number)).IntN(7) {
		a := r.program(100*number + n)
		if slices.Contains(r.absent, strconv.Itoa(100*number+n)) {
			continue
		}
		all.Go(func() {
			time.Sleep(a.duration())
			a.call(a.at('c'))
		})
	}
	if r.crowded {
		all.Go(func() { r.crowd(number) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Hour): // the driver may tick for ever, so time goes on
		hang("some calls have not ended after an hour", goroutines())
	}
}

// crowd stores more values than may wait for OnRemove, and removes them.
func (r *round) crowd(number int) {
	a := r.program(100*number + 99)
	a.rest()
	const n = 5000
	for i := range n {
		key := crowdKeys + i
		r.cache.Set(key, value{id: mixed(uint64(number)<<32 + uint64(i)), key: key, depth: deepest, above: -1})
	}
	r.cache.DelFunc(func(key int, _ value) bool { return key >= crowdKeys })
}

// quieten waits until nothing of the cache runs.
func (r *round) quieten() {
	for range 100_000 {
		synctest.Wait()
		if quiet, _ := r.ledger.quiet(); quiet {
			if s := r.stats(); s.Loads.Running == 0 && s.Callbacks.Running+s.Callbacks.Queued == 0 {
				return
			}
		}
		time.Sleep(ms)
	}
	s := r.stats()
	r.failf("something runs without end: loads %+v, callbacks %+v", s.Loads, s.Callbacks)
}

// end closes the cache.
func (r *round) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	r.ledger.close()
	r.checking.Store(true) // Close does not wait for loads that OnRemove begins now
	if err := r.cache.Close(ctx); err != nil {
		r.failf("Close: %v", err)
	}
	r.closed()
}

// failf fails the round.
func (r *round) failf(format string, args ...any) {
	r.t.Errorf("after %v: %s", time.Since(r.started), fmt.Sprintf(format, args...))
}

// tracef tells what happens, if somebody wants to know.
func (r *round) tracef(format string, args ...any) {
	r.progress.Add(1)
	if r.trace {
		fmt.Printf("%8v  %s\n", time.Since(r.started), fmt.Sprintf(format, args...))
	}
}
