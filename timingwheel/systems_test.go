package timingwheel

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What other timing wheels fail at, where no other test tries it: the models and TestRingExhaustive
// try the rest. go-zero's wheel is tried beside ours in proof/gozero.

// TestGodis: callbacks set their keys again, which can then be removed. godis, a Redis in Go,
// deletes the keys of a batch after it was collected: a key that was set again in between can
// never be cancelled.
func TestGodis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 1000
		var calls atomic.Int64
		var w *TimingWheel[int, int]
		w = newKeyed(t, keyedTick, 4, func(key, _ int) {
			calls.Add(1)
			mustSetKeyed(t, w, key, 0, 5*keyedTick)
		})
		for key := range keys {
			mustSetKeyed(t, w, key, 0, keyedTick)
		}
		time.Sleep(keyedTick)
		synctest.Wait()
		for key := range keys {
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(key))
		}
		time.Sleep(time.Hour)
		if n := calls.Load(); n != keys {
			t.Errorf("%d calls, want one for each of %d keys", n, keys)
		}
	})
}

// TestRussellLuoKafka adds timers to the slot that fires. RussellLuo/timingwheel, a port of
// Kafka's wheel, has lost a lock: a service stood for 2644 minutes (#53).
func TestRussellLuoKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chains, links = 1000, 20
		timers := mustTimers(t, ms, 4)
		var calls atomic.Int64
		var add func(left int)
		add = func(left int) {
			if left > 0 {
				timers.AfterFunc(ms, func() { calls.Add(1); add(left - 1) })
			}
		}
		for range chains {
			add(links)
		}
		time.Sleep(links * ms)
		synctest.Wait()
		if n := calls.Load(); n != chains*links {
			t.Errorf("%d calls after %d ms, want %d", n, links, chains*links)
		}
	})
}

// TestLeesperTao has a pool whose only worker is busy. The clock of tao, a network framework,
// stands when the channel to its workers is full.
func TestLeesperTao(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := make(chan func())
		go func() {
			for run := range tasks {
				run()
			}
		}()
		timers := mustTimers(t, 10*ms, 64, WithPool(func(run func()) error { tasks <- run; return nil }))
		l := newTimes()
		for range 3 {
			timers.AfterFunc(20*ms, func() { l.note(); time.Sleep(200 * ms) })
		}
		channel := timers.NewTimer(100 * ms)
		stopped := timers.AfterFunc(120*ms, func() { t.Error("called after Stop") })
		<-channel.C // needs no worker
		l.note()
		time.Sleep(40 * ms)
		wantTimers(t, "Stop of one that waits for the pool", stopped.Stop(), true)
		time.Sleep(time.Hour)
		l.want(t, 20, 100, 220, 420)
		close(tasks)
	})
}

// TestYearsOfUptime: timers fire in time after 12 days and one long sleep, when tokio's hung
// (tokio#8334), after 2³⁶ ms, when TiKV's panicked (tikv#11940), and after a century.
func TestYearsOfUptime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		timers := mustTimers(t, ms, 4096)
		began := time.Now()
		for _, uptime := range []time.Duration{12 * day, 1<<32*ms - ms, 1 << 32 * ms, 1<<36*ms - ms, 1 << 36 * ms, 100 * 365 * day} {
			time.Sleep(time.Until(began.Add(uptime)))
			l := newTimes()
			timers.AfterFunc(ms, l.note)
			timers.AfterFunc(time.Hour, l.note)
			time.Sleep(2 * time.Hour)
			l.want(t, 1, 60*60*1000)
		}
	})
}

// TestKeepAlivePool: the server that go-zero's lazy move was made for. It has 10 000
// connections, each of which sends a beat every second, and closes those from which nothing has
// come for 30 s. Nearly every move is to later, and nearly no timer ever fires.
//
// A wheel that only marks the old place of a timer fills up with marks; one whose lazy move is
// wrong closes connections that live, or keeps dead ones.
func TestKeepAlivePool(t *testing.T) {
	t.Run("by key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newConnections()
			w := newKeyed(t, poolTick, 512, func(id, _ int) { p.close(id) })
			p.follow(t, poolTimers{
				open:  func(id int) { mustSetKeyed(t, w, id, 0, poolTimeout) },
				beat:  func(id int) { wantKeyed(t, "MoveTimer", true)(w.MoveTimer(id, poolTimeout)) },
				leave: func(id int) { wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(id)) },
				load:  func() int { return w.Len() + w.Stats().Tombstones },
			})
		})
	})
	t.Run("by handle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newConnections()
			timers := mustTimers(t, poolTick, 512)
			var all [poolSize]*Timer
			p.follow(t, poolTimers{
				open:  func(id int) { all[id] = timers.AfterFunc(poolTimeout, func() { p.close(id) }) },
				beat:  func(id int) { wantTimers(t, "Reset", all[id].Reset(poolTimeout), true) },
				leave: func(id int) { wantTimers(t, "Stop", all[id].Stop(), true) },
				load:  func() int { return timers.Len() + timers.Stats().Tombstones },
			})
		})
	})
}

const (
	poolSize    = 10_000
	poolTick    = 100 * ms
	poolTimeout = 30 * time.Second
	poolBeats   = 40 // a second apart
)

// poolTimers is how the connections use their timers.
type poolTimers struct {
	open, beat, leave func(id int)
	load              func() int // timers and tombstones
}

type connections struct {
	began time.Time
	mu    sync.Mutex // guards when each was closed
	all   [poolSize]connection
}

// A connection sends some beats, at its phase of the second, and then leaves or falls silent.
type connection struct {
	phase  time.Duration
	beats  int
	leaves bool
	closed []time.Duration
}

func newConnections() *connections {
	p := &connections{began: time.Now()}
	random := rand.New(rand.NewPCG(5, 6))
	for id := range p.all {
		p.all[id] = connection{
			phase:  time.Duration(id%50)*20*ms + 7*ms,
			beats:  random.IntN(poolBeats-1) + 1,
			leaves: random.IntN(2) == 0,
		}
	}
	return p
}

func (p *connections) close(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[id].closed = append(p.all[id].closed, time.Since(p.began))
}

// follow has all connections do what is planned for them, and then checks that exactly those
// were closed that fell silent, each at the first tick that is 30 s after its last beat.
func (p *connections) follow(t *testing.T, timers poolTimers) {
	most := 0
	for beat := range poolBeats + 1 {
		for phase := range 50 {
			time.Sleep(time.Until(p.began.Add(time.Duration(beat)*time.Second + p.all[phase].phase)))
			for id := phase; id < poolSize; id += 50 {
				switch c := &p.all[id]; {
				case beat == 0:
					timers.open(id)
				case beat <= c.beats:
					timers.beat(id)
				case beat == c.beats+1 && c.leaves:
					timers.leave(id)
				}
			}
		}
		most = max(most, timers.load())
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	if left := timers.load(); most > poolSize || left != 0 {
		t.Errorf("%d timers and tombstones at a time for %d connections, %d at the end", most, poolSize, left)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.all {
		c := &p.all[id]
		var want []time.Duration
		if !c.leaves {
			silent := time.Duration(c.beats)*time.Second + c.phase + poolTimeout
			want = []time.Duration{(silent + poolTick - 1).Truncate(poolTick)}
		}
		if !slices.Equal(c.closed, want) {
			t.Errorf("connection %d was closed at %v, want %v", id, c.closed, want)
		}
	}
}
