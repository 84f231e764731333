package timingwheel_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// The systems that timing wheels are known by. Each test is named after one, and does not fail
// where that one fails. The pool of connections is in a file of its own; go-zero's wheel is tried
// beside ours in proof/gozero.
//
// Time is fake: it passes only while every goroutine waits, so a firing has an
// exact time, and a test that lets a century pass takes no longer than its timers.
//
// Not to be seen from outside, and so left to internal tests: how often the driver
// wakes up. Here only its order of magnitude shows, as a wheel that woke at every
// tick could not get through a century of milliseconds.

const (
	ms     = time.Millisecond
	second = time.Second
	hour   = time.Hour
	day    = 24 * hour
)

// TestGodis: godis, a Redis in Go, has a wheel of 3600 slots of a second for the
// TTL of its keys, with one job per key.
//
// It divides by zero with a tick below a second, rounds all delays down to whole
// seconds, and deletes the keys of a batch after it was collected: a key that was
// set again in between can never be cancelled.
func TestGodis(t *testing.T) {
	inBubble(t, "a tick below a second", func(t *testing.T) {
		w, log := keyedWheel(t, 100*ms, 3600)
		noError(t, w.SetTimer("a", 0, 250*ms))
		noError(t, w.SetTimer("b", 0, 1900*ms))
		time.Sleep(hour)
		log.want(t, "a at 300ms", "b at 1.9s")
	})
	inBubble(t, "a key set again while its batch is called can be cancelled", func(t *testing.T) {
		const keys = 1000
		calls := atomic.Int64{}
		var w *timingwheel.TimingWheel[int, int]
		w = wheelOf(t, second, 3600, func(key, _ int) {
			calls.Add(1)
			noError(t, w.SetTimer(key, 0, 5*second))
		})
		for key := range keys {
			noError(t, w.SetTimer(key, 0, second))
		}
		time.Sleep(second)
		synctest.Wait()
		for key := range keys {
			answers(t, true)(w.RemoveTimer(key))
		}
		time.Sleep(hour)
		if n := calls.Load(); n != keys {
			t.Errorf("%d calls, want one for each of %d keys", n, keys)
		}
	})
}

// TestRussellLuoKafka: Kafka holds back requests on a wheel of 20 slots of 1 ms
// that adds coarser levels on demand and sleeps until its next bucket is due.
// RussellLuo/timingwheel is its port to Go.
//
// The port rounds down, so that every timer is early. It has lost the lock that in
// Kafka keeps additions out while a bucket is flushed, so that an addition can
// deadlock the wheel. After Stop its buckets are still full, and there is no Reset.
func TestRussellLuoKafka(t *testing.T) {
	inBubble(t, "never early", func(t *testing.T) {
		for _, d := range []time.Duration{49 * ms, 99 * ms, 149 * ms, 1049 * ms} {
			timers, log := handles(t, 50*ms, 20)
			timers.AfterFunc(d, log.noting("x"))
			time.Sleep(hour)
			log.want(t, fmt.Sprintf("x at %v", d+ms))
		}
	})
	inBubble(t, "a timer of 703726 s", func(t *testing.T) { // RussellLuo/timingwheel#19: it fired next day
		timers, log := handles(t, ms, 20)
		timers.AfterFunc(703726*second, log.noting("x"))
		time.Sleep(30 * day)
		log.want(t, "x at 195h28m46s")
	})
	// RussellLuo/timingwheel#53: a service stood for 2644 minutes in Lock.
	inBubble(t, "adding to the bucket that is flushed", func(t *testing.T) {
		const chains, links = 1000, 20
		timers, _ := handles(t, ms, 4)
		calls := atomic.Int64{}
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

// TestLeesperTao: tao, a network framework, has timers with ids: at a time and then
// every interval, run by the workers of its server.
//
// Its additions and cancellations travel on two channels, so that the cancellation
// of a timer just added can come first and is lost. When the channel to the
// workers is full, its clock stands.
func TestLeesperTao(t *testing.T) {
	const tick = 500 * ms
	inBubble(t, "a timer cancelled just after it was added", func(t *testing.T) {
		const users, ids = 8, 1000
		w := wheelOf(t, tick, 64, func(id, _ int) { t.Errorf("timer %d fired, it was cancelled", id) })
		var all sync.WaitGroup
		for user := range users {
			all.Go(func() {
				for id := user * ids; id < (user+1)*ids; id++ {
					noError(t, w.SetTimer(id, 0, tick))
					answers(t, true)(w.RemoveTimer(id))
				}
			})
		}
		all.Wait()
		time.Sleep(hour)
	})
	inBubble(t, "a full pool does not stop the clock", func(t *testing.T) {
		server := newServer(1)
		timers, log := handles(t, tick, 64, timingwheel.WithPool(server.submit))
		for range 3 {
			timers.AfterFunc(second, func() { log.note("x"); time.Sleep(10 * second) })
		}
		channel := timers.NewTimer(5 * second)
		cancelled := timers.AfterFunc(6*second, log.noting("cancelled"))
		<-channel.C // needs no worker
		log.note("channel")
		time.Sleep(2 * second)
		if !cancelled.Stop() { // due for a second, and waiting for the pool
			t.Error("a timer whose callback waits for the pool cannot be stopped")
		}
		time.Sleep(hour)
		server.close()
		log.want(t, "x at 1s", "channel at 5s", "x at 11s", "x at 21s")
	})
	inBubble(t, "a pool that refuses makes a timer late, not lost", func(t *testing.T) {
		refusals := 3
		submit := func(run func()) error {
			if refusals > 0 {
				refusals--
				return errors.New("full")
			}
			go run()
			return nil
		}
		timers, log := handles(t, tick, 64, timingwheel.WithPool(submit))
		timers.AfterFunc(second, log.noting("x"))
		time.Sleep(hour)
		log.want(t, "x at 2.5s")
	})
}

// TestGoZero: go-zero, a framework for services, expires the keys of its cache and
// delays tasks on a wheel with circle and diff: a moved task stays in its slot.
func TestGoZero(t *testing.T) {
	inBubble(t, "diff", func(t *testing.T) {
		w, log := keyedWheel(t, second, 10)
		noError(t, w.SetTimer("later", 1, 3*second))
		noError(t, w.SetTimer("sooner", 1, 30*second))
		noError(t, w.SetTimer("often", 1, 5*second))
		answers(t, true)(w.MoveTimer("later", 40*second))
		answers(t, true)(w.MoveTimer("sooner", 2*second))
		for s := range 20 {
			answers(t, true)(w.MoveTimer("often", time.Duration(20-s)*second))
		}
		answers(t, false)(w.MoveTimer("unknown", second))
		time.Sleep(hour)
		log.want(t, "often=1 at 1s", "sooner=1 at 2s", "later=1 at 40s")
	})
}

// TestMultiLayerWheel: the wheel of textbooks, with a hand for seconds, one for
// minutes, one for hours and one for days, each of which hands its tasks to the
// next finer one when it moves.
//
// The usual faults are a task that is handed down a step of the coarser hand early
// or late, and a delay beyond the coarsest hand.
func TestMultiLayerWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		timers, _ := handles(t, second, 60)
		random := rand.New(rand.NewPCG(1, 2))
		delays := []time.Duration{
			second, 59 * second, 60 * second, 61 * second, hour - second, hour, hour + second,
			day - second, day, day + second, 7*day - second, 7 * day,
		}
		for len(delays) < n {
			delays = append(delays, time.Duration(random.Int64N(int64(7*day)))+1)
		}
		began := time.Now()
		var (
			mu  sync.Mutex
			got = make([]time.Duration, n)
		)
		for i, d := range delays {
			timers.AfterFunc(d, func() {
				mu.Lock()
				defer mu.Unlock()
				if got[i] != 0 {
					t.Errorf("the timer of %v fired twice", d)
				}
				got[i] = time.Since(began)
			})
		}
		time.Sleep(7*day + second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i, d := range delays {
			if want := (d + second - 1).Truncate(second); got[i] != want {
				t.Errorf("the timer of %v fired at %v, want %v", d, got[i], want)
			}
		}
		if n := timers.Len(); n != 0 {
			t.Errorf("%d timers left", n)
		}
	})
}

// TestVirtualHierarchicalRepeat: a tutorial's wheel, whose tasks repeat a number of
// times or for ever.
//
// It calls a task once more than asked, calls one whose interval is a whole
// revolution after one tick, can call a job twice in a tick, as a repeated job is
// hung into the list being scanned, and panics if an unknown key is removed.
func TestVirtualHierarchicalRepeat(t *testing.T) {
	inBubble(t, "intervals of whole revolutions", func(t *testing.T) {
		for _, slots := range []int{8, 10, 16} { // 10 is rounded up to 16
			for _, steps := range []int{8, 9, 10, 11, 16, 17, 20, 32, 33} {
				timers, log := handles(t, second, slots)
				interval := time.Duration(steps) * second
				timers.Repeat(3, interval, log.noting("x"))
				time.Sleep(hour)
				log.want(t, fmt.Sprintf("x at %v", interval), fmt.Sprintf("x at %v", 2*interval), fmt.Sprintf("x at %v", 3*interval))
			}
		}
	})
	inBubble(t, "never twice in a tick", func(t *testing.T) {
		const jobs, rounds, revolution = 50, 20, 8 * second
		timers, _ := handles(t, second, 8)
		last := make([]time.Duration, jobs) // each written by its own job, whose calls never overlap
		calls := atomic.Int64{}
		began := time.Now()
		for i := range jobs {
			timers.Every(revolution, func() {
				calls.Add(1)
				if now := time.Since(began); now != last[i]+revolution {
					t.Errorf("job %d was called at %v, the time before at %v", i, now, last[i])
				}
				last[i] = time.Since(began)
			})
		}
		time.Sleep(rounds * revolution)
		synctest.Wait()
		if n := calls.Load(); n != jobs*rounds {
			t.Errorf("%d calls, want %d", n, jobs*rounds)
		}
	})
}

// TestNettyHashedWheelTimer: Netty, a network framework for Java, has one wheel for
// the time-outs of all connections, of 512 slots of 100 ms. Most of its timers are
// cancelled.
//
// Its pending time-outs filled the memory until it got a limit (netty#5647),
// cancelled ones were kept until their bucket came round (#2541, #2561), its count
// of the pending went wrong when one was cancelled in the tick it was due (#14959),
// and delays grew after a minute (#1959). A slow task delays all others, as it runs
// on the thread of the wheel.
func TestNettyHashedWheelTimer(t *testing.T) {
	const tick, slots = 100 * ms, 512
	inBubble(t, "Len while timers are cancelled in the tick they are due", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots, timingwheel.WithWorkers(1))
		for i := range 5 {
			noError(t, w.SetTimer(fmt.Sprint(i), 0, second))
		}
		time.Sleep(second)
		left := 5
		for i := range 5 {
			if removed, err := w.RemoveTimer(fmt.Sprint(i)); removed {
				left--
			} else if err != nil {
				t.Error(err)
			}
			answers(t, false)(w.RemoveTimer(fmt.Sprint(i)))
			if n := w.Len(); n < 0 || n > left {
				t.Errorf("Len = %d with at most %d left", n, left)
			}
		}
		synctest.Wait()
		wantLen(t, w, 0)
		if n := log.len(); n != left {
			t.Errorf("%d called, %d not cancelled", n, left)
		}
	})
	inBubble(t, "delays do not grow", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots)
		var want []string
		for range 300 {
			noError(t, w.SetTimer("x", 0, second))
			time.Sleep(second)
			synctest.Wait()
			want = append(want, fmt.Sprintf("x at %v", time.Duration(len(want)+1)*second))
		}
		log.want(t, want...)
	})
}

// TestReportsOfUsers does what users of other wheels reported not to work.
func TestReportsOfUsers(t *testing.T) {
	// rfyiamcool/go-timewheel#28: 100 ms at a tick of 50 ms fired at 150 ms.
	inBubble(t, "rfyiamcool: the first delay is not a tick too long", func(t *testing.T) {
		for slots := 1; slots <= 8; slots++ {
			timers, log := handles(t, 50*ms, slots)
			timers.AfterFunc(100*ms, log.noting("x"))
			timers.Repeat(2, 100*ms, log.noting("repeat"))
			time.Sleep(hour)
			log.want(t, "repeat at 100ms", "x at 100ms", "repeat at 200ms")
		}
	})
	// qi7chen/timer-benchmarks#5: the size went negative.
	inBubble(t, "qi7chen: a callback that removes its own timer", func(t *testing.T) {
		var w *timingwheel.TimingWheel[string, int]
		w = wheelOf(t, second, 60, func(key string, _ int) {
			answers(t, false)(w.RemoveTimer(key))
			answers(t, false)(w.MoveTimer(key, second))
			wantLen(t, w, 0)
		})
		noError(t, w.SetTimer("x", 0, second))
		time.Sleep(hour)
		synctest.Wait()
		wantLen(t, w, 0)
	})
	// tokio#8334: after 12 days and one long sleep timers hung. tikv#11940: a panic
	// after 2³⁶ ms.
	inBubble(t, "tokio: years of uptime", func(t *testing.T) {
		timers, log := handles(t, ms, 4096)
		began := log.began
		for _, uptime := range []time.Duration{12 * day, 1<<32*ms - ms, 1 << 32 * ms, 1<<36*ms - ms, 1 << 36 * ms, 100 * 365 * day} {
			time.Sleep(time.Until(began.Add(uptime)))
			log.began = time.Now()
			timers.AfterFunc(ms, log.noting("short"))
			timers.AfterFunc(hour, log.noting("long"))
			time.Sleep(2 * hour)
			log.want(t, "short at 1ms", "long at 1h0m0s")
			log.all = nil
		}
	})
	// golang#38119.
	inBubble(t, "Go: a timer that is reset all the time starves no other", func(t *testing.T) {
		timers, log := handles(t, ms, 64)
		busy := timers.AfterFunc(10*ms, log.noting("busy"))
		timers.AfterFunc(500*ms, log.noting("x"))
		for range 1000 {
			time.Sleep(ms)
			busy.Reset(10 * ms)
		}
		time.Sleep(second)
		log.want(t, "x at 500ms", "busy at 1.01s")
	})
	// ben-manes/caffeine#431 and theine#64: a bucket is reached a unit late.
	inBubble(t, "theine: every delay from every tick", func(t *testing.T) {
		const slots, longest = 4, 70 // more than slots² ticks
		timers, _ := handles(t, ms, slots)
		fired := atomic.Int64{}
		for range 2 * slots * slots {
			for d := 1; d <= longest; d++ {
				due := time.Now().Add(time.Duration(d) * ms)
				timers.AfterFunc(time.Duration(d)*ms, func() {
					fired.Add(1)
					if late := time.Since(due); late != 0 {
						t.Errorf("a timer of %d ticks fired %v late", d, late)
					}
				})
			}
			time.Sleep(ms)
		}
		time.Sleep(second)
		synctest.Wait()
		if n := fired.Load(); n != 2*slots*slots*longest {
			t.Errorf("%d timers fired, want %d", n, 2*slots*slots*longest)
		}
	})
}

// Helpers.

// inBubble runs a subtest in fake time.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// wheelOf makes a wheel that is stopped at the end of the test. Its ticks are at
// whole multiples of the interval from now.
func wheelOf[K comparable, V any](t *testing.T, interval time.Duration, slots int, execute func(K, V), opts ...timingwheel.Option) *timingwheel.TimingWheel[K, V] {
	t.Helper()
	w, err := timingwheel.New(interval, slots, execute, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// keyedWheel makes a wheel whose callbacks are noted as the key, with the value if
// that is not 0: "key=value".
func keyedWheel(t *testing.T, interval time.Duration, slots int, opts ...timingwheel.Option) (*timingwheel.TimingWheel[string, int], *firings) {
	t.Helper()
	log := &firings{began: time.Now()}
	return wheelOf(t, interval, slots, func(key string, value int) {
		if value != 0 {
			key = fmt.Sprintf("%s=%d", key, value)
		}
		log.note(key)
	}, opts...), log
}

// handles makes Timers, and something to note their callbacks with.
func handles(t *testing.T, interval time.Duration, slots int, opts ...timingwheel.Option) (*timingwheel.Timers, *firings) {
	t.Helper()
	timers, err := timingwheel.NewTimers(interval, slots, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(timers.Stop)
	return timers, &firings{began: time.Now()}
}

// firings are what has fired, and when.
type firings struct {
	began time.Time
	mu    sync.Mutex
	all   []firing
}

type firing struct {
	name string
	at   time.Duration
}

func (f *firings) note(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, firing{name, time.Since(f.began)})
}

func (f *firings) noting(name string) func() { return func() { f.note(name) } }

func (f *firings) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

// want checks all that has fired so far, given as "name at time" in the order of
// time, and of name where that is the same.
func (f *firings) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.all, func(a, b firing) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
	var got []string
	for _, one := range f.all {
		got = append(got, fmt.Sprintf("%s at %v", one.name, one.at))
	}
	if !slices.Equal(got, want) {
		t.Errorf("fired %q, want %q", got, want)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// answers checks what MoveTimer and RemoveTimer say of a key.
func answers(t *testing.T, want bool) func(got bool, err error) {
	t.Helper()
	return func(got bool, err error) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("got %t, %v; want %t", got, err, want)
		}
	}
}

func wantLen[K comparable, V any](t *testing.T, w *timingwheel.TimingWheel[K, V], want int) {
	t.Helper()
	if n := w.Len(); n != want {
		t.Errorf("Len = %d, want %d", n, want)
	}
}

// A server has a number of workers, and submit waits until one is free.
type server struct {
	tasks   chan func()
	workers sync.WaitGroup
}

func newServer(workers int) *server {
	s := &server{tasks: make(chan func())}
	for range workers {
		s.workers.Go(func() {
			for task := range s.tasks {
				task()
			}
		})
	}
	return s
}

func (s *server) submit(run func()) error {
	s.tasks <- run
	return nil
}

// close ends the workers. Nothing may be submitted any more.
func (s *server) close() {
	synctest.Wait()
	close(s.tasks)
	s.workers.Wait()
}
