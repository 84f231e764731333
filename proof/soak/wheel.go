package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const (
	wheelTick    = 5 * time.Millisecond
	wheelSlots   = 64 // few, so that a long delay takes the overflow level
	wheelWorkers = 6
	wheelKeys    = 4096
	longest      = 600 * time.Millisecond // delay
)

// A keyedWheel is the part of a TimingWheel that the checker uses.
type keyedWheel interface {
	SetTimer(key int, value uint64, delay time.Duration) error
	MoveTimer(key int, delay time.Duration) (bool, error)
	RemoveTimer(key int) (bool, error)
	Drain(fn func(key int, value uint64)) error
	Len() int
	Stats() stats.WheelSnapshot
	Shutdown(ctx context.Context) error
}

type wheelOpener func(execute func(int, uint64)) keyedWheel

func openWheel(execute func(int, uint64)) keyedWheel {
	w, err := timingwheel.New(wheelTick, wheelSlots, execute, timingwheel.WithName("keyed"),
		timingwheel.WithWorkers(wheelWorkers), timingwheel.WithOnPanic(func(any, []byte) {}))
	if err != nil {
		panic(err)
	}
	return w
}

// A wheel is a keyed timing wheel and the appointments of its keys.
type wheel struct {
	keyedWheel
	failed  *failure
	keys    [wheelKeys]appointment
	sets    atomic.Uint64
	removes atomic.Uint64 // calls that removed a timer
	fired   atomic.Uint64
	panics  atomic.Uint64
	running atomic.Int64
	resting atomic.Bool
}

func newWheel(open wheelOpener, f *failure) *wheel {
	w := &wheel{failed: f}
	w.keyedWheel = open(w.execute)
	return w
}

// An appointment says which timer a key may have.
type appointment struct {
	mu      sync.Mutex
	begun   uint64 // changes
	pending int    // those under way
	moving  int    // those of them that move the timer
	sure    bool   // has is certain
	has     uint64 // the waiting timer, unless it has fired; 0 means none
	last    uint64
	open    []shot
	past    history
}

// A shot is a timer that may fire.
type shot struct {
	number   uint64
	earliest int64
}

// A turn is a change of an appointment under way.
type turn struct {
	version, number uint64
	alone           bool
	sure            bool // was is certain
	was             uint64
	began           int64
	earliest        int64
}

func (a *appointment) begin(k kind, delay time.Duration) turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun++
	u := turn{version: a.begun, alone: a.pending == 0, sure: a.sure && a.pending == 0 || a.begun == 1, was: a.has, began: now()}
	u.earliest = u.began + int64(delay)
	a.pending++
	a.sure = false
	switch k {
	case set:
		a.last++
		u.number = a.last
		a.open = append(a.open, shot{u.number, u.earliest})
	case move:
		a.moving++
	}
	a.past.note(event{u.began, u.number, int64(delay), k, began})
	return u
}

// end records that a change has ended. ok is the result of MoveTimer or RemoveTimer. end
// returns what is wrong with it.
func (a *appointment) end(k kind, u turn, ok bool) (wrong string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := now()
	a.pending--
	a.past.note(event{at, u.number, 0, k, ended})
	alone := u.alone && a.begun == u.version
	i := a.find(u.was)
	waits := u.sure && alone && i >= 0 && at < a.open[i].earliest // for certain
	if k != set && u.sure && alone {
		switch {
		case ok && u.was == 0:
			wrong = fmt.Sprintf("%s found a timer, but there was none", k)
		case !ok && waits:
			wrong = fmt.Sprintf("%s found no timer, but number %d was not due", k, u.was)
		case ok && k == del && i < 0:
			wrong = fmt.Sprintf("timer %d was removed, but it fired", u.was)
		}
	}
	switch k {
	case set:
		if waits {
			a.open = slices.Delete(a.open, i, i+1)
		}
		a.settle(alone, u.number)
	case del:
		if ok && u.sure && alone && i >= 0 {
			a.open = slices.Delete(a.open, i, i+1)
		}
		a.settle(alone, 0)
	case move:
		a.moving--
		for j := range a.open {
			if s := &a.open[j]; alone && u.sure && s.number == u.was && ok {
				s.earliest = u.earliest
			} else {
				s.earliest = min(s.earliest, u.earliest)
			}
		}
		if alone && u.sure {
			has := u.was
			if !ok {
				has = 0
			}
			a.settle(true, has)
		}
	}
	return wrong
}

// settle records which timer the key has, unless others changed it meanwhile.
func (a *appointment) settle(alone bool, has uint64) {
	a.sure, a.has = alone, has
	if a.find(has) < 0 {
		a.has = 0 // it has fired already
	}
}

func (a *appointment) find(number uint64) int {
	return slices.IndexFunc(a.open, func(s shot) bool { return s.number == number })
}

// fired records that a timer has fired and returns what is wrong with that.
func (a *appointment) fired(number uint64, early bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := now()
	a.past.note(event{at, number, 0, fire, called})
	i := a.find(number)
	if i < 0 {
		return fmt.Sprintf("timer %d fired, which had fired before or was removed or replaced before it was due", number)
	}
	s := a.open[i]
	if !early && a.moving == 0 && at < s.earliest {
		return fmt.Sprintf("timer %d fired %v too early", number, time.Duration(s.earliest-at))
	}
	a.open = slices.Delete(a.open, i, i+1)
	if a.has == number {
		a.has = 0
	}
	return ""
}

func (w *wheel) wrong(key int, what string) {
	if what == "" {
		return
	}
	a := &w.keys[key]
	a.mu.Lock()
	past := a.past.String()
	a.mu.Unlock()
	w.failed.report(violation{Subject: "keyed wheel", What: fmt.Sprintf("key %d: %s", key, what), History: past})
}

// execute is the function of the wheel.
func (w *wheel) execute(key int, id uint64) {
	if n := w.running.Add(1); n > wheelWorkers {
		w.wrong(key, fmt.Sprintf("%d callbacks at once, want at most %d", n, wheelWorkers))
	}
	defer w.running.Add(-1)
	w.took(key, id, false)
	w.fired.Add(1)
	if w.resting.Load() {
		return
	}
	rng := rand.New(rand.NewPCG(uint64(key), id))
	switch rng.IntN(128) {
	case 0:
		time.Sleep(time.Millisecond)
	case 1:
		w.panics.Add(1)
		panic("soak")
	case 2:
		w.panics.Add(1)
		runtime.Goexit()
	case 3, 4, 5:
		w.operate(&hand{rng: rng})
	}
}

// took records that execute or Drain got a timer of a key.
func (w *wheel) took(key int, id uint64, early bool) {
	k, number := split(id)
	if k != key {
		w.wrong(key, fmt.Sprintf("it got a timer of key %d", k))
	}
	w.wrong(key, w.keys[key].fired(number, early))
}

// operate does one operation and checks the answer.
func (w *wheel) operate(h *hand) {
	h.counts[opWheel]++
	key := h.rng.IntN(wheelKeys)
	if h.rng.IntN(8) == 0 {
		key %= 16
	}
	a := &w.keys[key]
	delay := 1 + time.Duration(h.rng.Int64N(int64(longest)))
	if h.rng.IntN(4) == 0 {
		delay = 1 + delay/50
	}
	a.mu.Lock()
	crowded := len(a.open) > crowd
	a.mu.Unlock()
	var err error
	switch n := h.rng.IntN(8); {
	case crowded || n == 7:
		if w.Len() > wheelKeys {
			w.wrong(key, "there are more timers than keys")
		}
	case n < 4:
		u := a.begin(set, delay)
		err = w.SetTimer(key, idOf(key, u.number), delay)
		w.sets.Add(1)
		w.wrong(key, a.end(set, u, true))
	case n < 6:
		u := a.begin(move, delay)
		var ok bool
		ok, err = w.MoveTimer(key, delay)
		w.wrong(key, a.end(move, u, ok))
	default:
		u := a.begin(del, 0)
		var ok bool
		if ok, err = w.RemoveTimer(key); ok {
			w.removes.Add(1)
		}
		w.wrong(key, a.end(del, u, ok))
	}
	if err != nil {
		w.wrong(key, err.Error())
	}
}

// audit waits until all timers have fired, or drains the wheel, and compares the wheel with
// the appointments. Nobody else may use the wheel.
func (w *wheel) audit(drain bool) {
	w.resting.Store(true)
	defer w.resting.Store(false)
	if wrong := eventually(w.failed, w.calm); wrong != "" {
		w.failed.report(violation{Subject: "keyed wheel", What: wrong})
		return
	}
	if drain {
		err := w.Drain(func(key int, id uint64) {
			w.removes.Add(1)
			w.took(key, id, true)
		})
		if err != nil {
			w.failed.report(violation{Subject: "keyed wheel", What: "Drain: " + err.Error()})
		}
	}
	if wrong := eventually(w.failed, w.empty); wrong != "" {
		w.failed.report(violation{Subject: "keyed wheel", What: wrong})
	}
	for key := range w.keys {
		w.wrong(key, w.keys[key].rest())
	}
}

// calm waits for callbacks that began before the rest, as they use the wheel.
func (w *wheel) calm() string {
	if n := w.running.Load(); n > 0 {
		return fmt.Sprintf("%d callbacks are running", n)
	}
	return ""
}

func (w *wheel) empty() string {
	s := w.Stats()
	switch {
	case w.Len() > 0:
		return fmt.Sprintf("%d timers wait long after they were due", w.Len())
	case s.Fired != w.fired.Load() || w.running.Load() > 0 || s.Panics != w.panics.Load():
		return fmt.Sprintf("%d fired and %d panicked, but the statistics say %d and %d", w.fired.Load(), w.panics.Load(), s.Fired, s.Panics)
	case s.Removed != w.removes.Load() || s.Started != s.Fired+s.Removed || s.Started > w.sets.Load(): // setting a waiting timer again starts none
		return fmt.Sprintf("%d were set and %d removed, but the statistics say %d and %d, and that %d fired", w.sets.Load(), w.removes.Load(), s.Started, s.Removed, s.Fired)
	}
	return ""
}

// rest checks an appointment of an empty wheel.
func (a *appointment) rest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sure && a.has != 0 {
		return fmt.Sprintf("timer %d never fired, though nobody removed it", a.has)
	}
	a.open, a.sure, a.has = nil, true, 0
	return ""
}
