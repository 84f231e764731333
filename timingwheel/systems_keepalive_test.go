package timingwheel_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestKeepAlivePool: the server that go-zero's lazy move was made for. It has
// 10 000 connections, each of which sends a beat every second, and closes those
// from which nothing has come for 30 s. Nearly every move is to later, and nearly
// no timer ever fires.
//
// A wheel that takes each timer out and hangs it in again does much work for
// nothing; one that only marks the old place fills up with marks; and one whose
// lazy move is wrong closes connections that live, or keeps dead ones.
func TestKeepAlivePool(t *testing.T) {
	inBubble(t, "by key", func(t *testing.T) {
		p := newPool()
		w := wheelOf(t, poolTick, 512, func(id, _ int) { p.close(id) })
		p.follow(t, poolTimers{
			open:  func(id int) { noError(t, w.SetTimer(id, 0, poolTimeout)) },
			beat:  func(id int) { answers(t, true)(w.MoveTimer(id, poolTimeout)) },
			leave: func(id int) { answers(t, true)(w.RemoveTimer(id)) },
			load:  func() int { return w.Len() + w.Stats().Tombstones },
		})
	})
	inBubble(t, "by handle", func(t *testing.T) {
		p := newPool()
		timers, _ := handles(t, poolTick, 512)
		connections := map[int]*timingwheel.Timer{}
		p.follow(t, poolTimers{
			open: func(id int) { connections[id] = timers.AfterFunc(poolTimeout, func() { p.close(id) }) },
			beat: func(id int) {
				if !connections[id].Reset(poolTimeout) {
					t.Errorf("connection %d sends a beat, but its timer does not wait", id)
				}
			},
			leave: func(id int) {
				if !connections[id].Stop() {
					t.Errorf("connection %d leaves, but its timer does not wait", id)
				}
			},
			load: func() int { return timers.Len() + timers.Stats().Tombstones },
		})
	})
}

const (
	poolSize    = 10_000
	poolTick    = 100 * ms
	poolTimeout = 30 * second
	poolBeat    = second
	poolSeconds = 40 // so long beats are sent
)

// poolTimers is how a pool uses its timers.
type poolTimers struct {
	open, beat, leave func(id int)
	load              func() int // timers and tombstones
}

// A pool of connections, the plan for each, and what was closed.
type pool struct {
	began time.Time
	plans [poolSize]connectionPlan

	mu     sync.Mutex
	closed map[int]time.Duration
	again  []int // closed already
}

// A connectionPlan is for how many beats a connection lives, at which phase of the
// second it sends them, and whether it says good-bye then.
type connectionPlan struct {
	phase time.Duration
	beats int
	leave bool
}

func newPool() *pool {
	p := &pool{began: time.Now(), closed: map[int]time.Duration{}}
	random := rand.New(rand.NewPCG(5, 6))
	for id := range p.plans {
		p.plans[id] = connectionPlan{
			phase: time.Duration(id%50)*20*ms + 7*ms,
			beats: random.IntN(poolSeconds) + 1,
			leave: random.IntN(2) == 0,
		}
	}
	return p
}

func (p *pool) close(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, already := p.closed[id]; already {
		p.again = append(p.again, id)
	}
	p.closed[id] = time.Since(p.began)
}

// follow has all connections do what is planned for them, and then checks that
// exactly those were closed that fell silent, each at the first tick that is 30 s
// after its last beat.
func (p *pool) follow(t *testing.T, timers poolTimers) {
	most := 0
	for beat := range poolSeconds + 1 {
		for phase := 0; phase < 50; phase++ {
			time.Sleep(time.Until(p.began.Add(time.Duration(beat)*poolBeat + p.plans[phase].phase)))
			for id := phase; id < poolSize; id += 50 {
				switch plan := p.plans[id]; {
				case beat == 0:
					timers.open(id)
				case beat <= plan.beats:
					timers.beat(id)
				case beat == plan.beats+1 && plan.leave:
					timers.leave(id)
				}
			}
		}
		most = max(most, timers.load())
	}
	time.Sleep(time.Hour)
	synctest.Wait()

	if most > poolSize {
		t.Errorf("%d timers and tombstones at a time for %d connections", most, poolSize)
	}
	if n := timers.load(); n != 0 {
		t.Errorf("%d timers and tombstones are left", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.again) > 0 {
		t.Errorf("connections %v were closed twice", p.again)
	}
	for id, plan := range p.plans {
		at, closed := p.closed[id]
		silent := time.Duration(plan.beats)*poolBeat + plan.phase + poolTimeout
		switch {
		case plan.leave && plan.beats < poolSeconds:
			if closed {
				t.Errorf("connection %d left, and was closed at %v", id, at)
			}
		case !closed:
			t.Errorf("connection %d was never closed", id)
		case at != ceil(silent, poolTick):
			t.Errorf("connection %d was closed at %v, want %v", id, at, ceil(silent, poolTick))
		}
	}
}

// ceil rounds up to a multiple of the unit.
func ceil(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }
