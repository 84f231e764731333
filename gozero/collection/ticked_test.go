package collection

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"pgregory.net/rapid"
)

// A wheelOp is a step of a plan: what it means depends on op.
type wheelOp struct{ op, key, halves int }

// A modelled wheel is a ticked wheel, stepped by hand, and a map that says when
// each key is due.
type modelled struct {
	wheel *ticked
	want  map[int]modelTimer
	now   int64
	gen   int

	mu    sync.Mutex
	fired []string
}

type modelTimer struct {
	value int
	due   int64
}

func (m *modelled) note(key, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fired = append(m.fired, fmt.Sprint(key, "=", value))
}

// due is how many ticks a delay in half ticks takes.
func (m *modelled) due(halves int) int64 { return m.now + int64(halves+1)/2 }

func (m *modelled) do(o wheelOp) error {
	delay := time.Duration(o.halves) * time.Second / 2
	timer, found := m.want[o.key]
	switch o.op {
	case 0, 1, 2:
		m.gen++
		m.want[o.key] = modelTimer{m.gen, m.due(o.halves)}
		return m.wheel.SetTimer(o.key, m.gen, delay)
	case 3, 4, 5:
		if found {
			m.want[o.key] = modelTimer{timer.value, m.due(o.halves)}
			if o.halves < 2 {
				m.want[o.key] = modelTimer{timer.value, m.now}
			}
		}
		got, err := m.wheel.MoveTimer(o.key, delay)
		return same("MoveTimer", got, found, err)
	case 6:
		delete(m.want, o.key)
		got, err := m.wheel.RemoveTimer(o.key)
		return same("RemoveTimer", got, found, err)
	case 7:
		for key := range m.want {
			m.want[key] = modelTimer{m.want[key].value, m.now}
		}
		return m.wheel.Drain(m.note)
	}
	for range o.halves {
		m.now++
		m.wheel.tick()
	}
	return nil
}

func same(what string, got, want bool, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%s: %t, want %t", what, got, want)
	}
	return err
}

// check compares what was called since the last check, and what is left.
func (m *modelled) check() error {
	synctest.Wait()
	var want []string
	for key, timer := range m.want {
		if timer.due <= m.now {
			want = append(want, fmt.Sprint(key, "=", timer.value))
			delete(m.want, key)
		}
	}
	fired := m.fired
	m.fired = nil
	slices.Sort(fired)
	slices.Sort(want)
	if !slices.Equal(fired, want) {
		return fmt.Errorf("tick %d: called %q, want %q", m.now, fired, want)
	}
	p := &m.wheel.slab
	if len(p.index) != len(m.want) || p.ring.Len() != len(m.want) || len(p.free)+len(p.index) != p.used {
		return fmt.Errorf("tick %d: %d keys, %d in the ring, %d of %d numbers free; want %d keys",
			m.now, len(p.index), p.ring.Len(), len(p.free), p.used, len(m.want))
	}
	for _, i := range p.free {
		if p.timers[i] != (timer{}) {
			return fmt.Errorf("tick %d: a free place holds %v", m.now, p.timers[i])
		}
	}
	for key, timer := range m.want {
		if due, ok := p.ring.Due(p.index[key]); !ok || due != timer.due {
			return fmt.Errorf("tick %d: key %d is due at %d, %t, want %d", m.now, key, due, ok, timer.due)
		}
	}
	return nil
}

// TestTickedModel compares a wheel with a map after every step of a plan.
//
// Catches: a delay rounded down, a move that keeps the old time as well, or is off
// by a revolution, a timer that Drain leaves behind, a number handed out twice.
func TestTickedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) wheelOp {
			return wheelOp{
				op:     rapid.IntRange(0, 12).Draw(rt, "op"), // 8 and more: ticks
				key:    rapid.IntRange(0, 3).Draw(rt, "key"),
				halves: rapid.IntRange(1, 60).Draw(rt, "halves"),
			}
		}), 1, 100).Draw(rt, "plan")
		slots := rapid.IntRange(1, 9).Draw(rt, "slots")
		var err error
		synctest.Test(t, func(t *testing.T) {
			m := &modelled{want: make(map[int]modelTimer)}
			m.wheel = newTicked(time.Second, 1, m.note)
			m.wheel.slab = newSlab(slots, 0) // few, unlike those that newTicked makes
			for i, o := range plan {
				if err = m.do(o); err == nil {
					err = m.check()
				}
				if err != nil {
					err = fmt.Errorf("step %d, %+v: %w", i, o, err)
					return
				}
			}
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestTickedRemoved moves timers below an interval, so that they are called at once, and removes
// some while ticks go on. Removed timers are not called, and the others once.
func TestTickedRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, rounds = 4, 500
		var mu sync.Mutex
		calls := make(map[[2]int]int)
		w := newTicked(time.Second, 10, func(key, value any) {
			mu.Lock()
			defer mu.Unlock()
			calls[[2]int{key.(int), value.(int)}]++
		})
		var want [users][rounds]int
		var wg sync.WaitGroup
		for u := range users {
			wg.Go(func() {
				for i := range rounds {
					_ = w.SetTimer(u, i, time.Second)
					if i%2 == 0 {
						_, _ = w.MoveTimer(u, 1)
						_, _ = w.MoveTimer(u, 1)
					}
					if i%3 == 0 {
						w.tick()
					}
					if removed, _ := w.RemoveTimer(u); !removed {
						want[u][i] = 1
					}
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		for u := range users {
			for i := range rounds {
				if n := calls[[2]int{u, i}]; n != want[u][i] {
					t.Errorf("key %d, value %d: %d calls, want %d", u, i, n, want[u][i])
				}
			}
		}
	})
}

// TestTickedChangedBeforeCall moves timers below an interval and changes them again, mostly
// before the goroutine that calls them has begun. The last change wins.
func TestTickedChangedBeforeCall(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(m *modelled) (inTime bool)
		calls, left int // if it was in time
	}{
		"moved": {func(m *modelled) bool {
			found, _ := m.wheel.MoveTimer("x", time.Second)
			return found
		}, 0, 1},
		"set": {func(m *modelled) bool {
			_ = m.wheel.SetTimer("x", "new", time.Second)
			synctest.Wait()
			return !slices.Contains(m.fired, "x=old")
		}, 0, 1},
		"removed": {func(m *modelled) bool {
			found, _ := m.wheel.RemoveTimer("x")
			return found
		}, 0, 0},
		"drained": {func(m *modelled) (drained bool) {
			_ = m.wheel.Drain(func(key, value any) {
				drained = true
				m.note(key, value)
			})
			return drained
		}, 1, 0},
	} {
		inTime := 0
		for range 200 {
			synctest.Test(t, func(t *testing.T) {
				m := new(modelled)
				m.wheel = newTicked(time.Second, 10, m.note)
				_ = m.wheel.SetTimer("x", "old", time.Second)
				_, _ = m.wheel.MoveTimer("x", 1)
				if !c.change(m) {
					return
				}
				inTime++
				synctest.Wait()
				_, _ = m.wheel.RemoveTimer("y") // the wheel is still usable
				if left := len(m.wheel.slab.index); len(m.fired) != c.calls || left != c.left {
					t.Errorf("%s: called %q, and %d left; want %d and %d", name, m.fired, left, c.calls, c.left)
				}
			})
		}
		if inTime == 0 {
			t.Errorf("%s: always too late", name)
		}
	}
}

// TestTickedMovedWhileDue moves timers that wait for a worker: half of them to later, the others
// to less than an interval, which leaves them in their place.
func TestTickedMovedWhileDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called, running, tooMany atomic.Int64
		w := newTicked(time.Second, 10, func(_, _ any) {
			called.Add(1)
			if running.Add(1) > workers {
				tooMany.Add(1)
			}
			time.Sleep(time.Second)
			running.Add(-1)
		})
		for i := range 3 * workers {
			_ = w.SetTimer(i, nil, time.Second)
		}
		w.tick()
		synctest.Wait() // a third is being called
		later := int64(0)
		for i := range 3 * workers {
			if i%2 == 0 {
				_, _ = w.MoveTimer(i, 1)
			} else if found, _ := w.MoveTimer(i, time.Second); found {
				later++
			}
		}
		if later == 0 {
			t.Error("none waited")
		}
		time.Sleep(time.Minute)
		if n, want := called.Load(), 3*workers-later; n != want {
			t.Errorf("%d called, want %d", n, want)
		}
		w.tick()
		time.Sleep(time.Minute)
		if n := called.Load(); n != 3*workers {
			t.Errorf("%d called in the end, want %d", n, 3*workers)
		}
		if n := tooMany.Load(); n != 0 {
			t.Errorf("%d calls began while %d ran", n, workers)
		}
	})
}

// TestFailingCallbacks has more callbacks that panic or call Goexit than there are workers: they
// are logged, affect no others, and leave no worker behind.
func TestFailingCallbacks(t *testing.T) {
	var logged bytes.Buffer
	before := logx.Reset()
	defer logx.SetWriter(before)
	logx.SetWriter(logx.NewWriter(&logged))
	synctest.Test(t, func(t *testing.T) {
		const each = 2 * workers
		var called atomic.Int64
		fail := func(key, _ any) {
			time.Sleep(time.Second) // until all workers are busy
			called.Add(1)
			switch key.(int) % 3 {
			case 0:
				panic("boom")
			case 1:
				runtime.Goexit()
			}
		}
		w := newTicked(time.Second, 10, fail)
		for i := range 3 * each {
			_ = w.SetTimer(i, nil, time.Second)
		}
		w.tick()
		time.Sleep(time.Minute)
		if n := called.Load(); n != 3*each {
			t.Errorf("%d called, want %d", n, 3*each)
		}
		_ = w.SetTimer(0, nil, time.Hour)
		_, _ = w.MoveTimer(0, 1) // which calls at once, and panics
		time.Sleep(time.Minute)
		for i := range 3 * each {
			_ = w.SetTimer(i, nil, time.Second)
		}
		if err := w.Drain(fail); err != nil {
			t.Error(err)
		}
		if n := called.Load(); n != 2*3*each+1 {
			t.Errorf("%d called after Drain, want %d", n, 2*3*each+1)
		}
		if w.running != 0 {
			t.Errorf("%d workers left", w.running)
		}
		panics, exits := strings.Count(logged.String(), "boom"), strings.Count(logged.String(), errGoexit.Error())
		if panics != 2*each+1 || exits != 2*each {
			t.Errorf("%d panics and %d exits logged, want %d, and one panic more", panics, exits, 2*each)
		}
	})
}

// TestTickedLongDelays checks delays that must not be cut short, for any interval.
func TestTickedLongDelays(t *testing.T) {
	for _, interval := range []time.Duration{100 * time.Microsecond, time.Second} {
		w := newTicked(interval, 1, func(_, _ any) {})
		const delay = 10 * 365 * 24 * time.Hour
		if err := w.SetTimer("x", 1, delay); err != nil {
			t.Fatal(err)
		}
		if due, ok := w.slab.ring.Due(w.slab.index["x"]); !ok || due != int64(delay/interval) {
			t.Errorf("interval %v: due at %d, %t", interval, due, ok)
		}
		if err := w.SetTimer("x", 1, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newTicked(1, 1, func(_, _ any) { t.Error("called") })
		w.tick()
		if err := w.SetTimer("x", 1, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		w.tick()
		synctest.Wait()
		w.Stop()
	})
}
