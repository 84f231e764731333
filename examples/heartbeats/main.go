// Command heartbeats shows what a timing wheel is for: of 100,000 connections each sends a beat
// every 5 s, and one that is silent for 30 s is closed. It runs this load three ways, each in a
// process of its own, and compares what they take. On a busy machine such small processor times
// differ by half from run to run.
//
//	go run -C examples ./heartbeats                         # takes three and a half minutes
//	go run -C examples ./heartbeats -http 127.0.0.1:8080    # and shows the wheel at /cache/
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const step = 10 * time.Millisecond // between two rounds of beats
const silentShare = 1000           // one connection in silentShare falls silent

var ways = []string{"wheel", "sweep", "package time", "none"}

func main() {
	var l load
	flag.IntVar(&l.connections, "connections", 100_000, "the number of connections; one in a thousand falls silent")
	flag.DurationVar(&l.beat, "beat", 5*time.Second, "each connection sends a beat once in this `time`")
	flag.DurationVar(&l.timeout, "timeout", 30*time.Second, "a connection that is silent for this `time` is closed")
	flag.DurationVar(&l.window, "for", 45*time.Second, "measure each way for this `time`, after one -beat to settle")
	page := flag.String("http", "", "`address` of a page that shows the wheel while it runs, and adds to its figures; port 0 is any free one")
	flag.Parse()
	log.SetFlags(0)
	switch least := l.timeout + 2*l.sweeps(); {
	case flag.NArg() > 0:
		log.Fatalf("unexpected argument %q: all settings are flags, see -help", flag.Arg(0))
	case l.connections < 1:
		log.Fatalf("-connections %d: want 1 or more, such as -connections 100000", l.connections)
	case l.beat < 2*step || l.beat > l.timeout/2:
		log.Fatalf("-beat %v -timeout %v: want a beat of %v or more, twice in the time-out, such as -beat 5s -timeout 30s", l.beat, l.timeout, 2*step)
	case l.window <= least:
		log.Fatalf("-for %v: want more than %v, to see silent connections closed, such as -for %v", l.window, least, l.timeout*3/2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // a child goes on, until its parent kills it
	defer stop()
	way := os.Getenv("HEARTBEATS_WAY")
	if way == "" {
		compare(ctx, l)
		return
	}
	if way == "wheel" && *page != "" {
		listener, err := net.Listen("tcp", *page)
		if err != nil {
			log.Fatalf("%v (to choose another address: -http 127.0.0.1:8081)", err)
		}
		log.Printf("  http://%s/cache/ shows it while it runs", strings.Replace(listener.Addr().String(), "[::]", "localhost", 1))
		go http.Serve(listener, stats.Handler()) // until the process ends
	}
	r := l.measure(ctx, way)
	fmt.Println(r.CPU, r.Wakes, r.Heap, r.Latest, r.Closed, r.Others)
}

// compare runs each way in a child, one after the other, and prints what they took.
func compare(ctx context.Context, l load) {
	fmt.Printf("%d connections beat every %v. Those silent for %v are closed by timers on a wheel with a tick of %v,\nby a sweep over all every %v, by timers of package time, or by none.\n",
		l.connections, l.beat, l.timeout, l.tick(), l.sweeps())
	results := make([]result, len(ways))
	for i, way := range ways {
		fmt.Printf("%s: settles for %v, and is measured for %v\n", way, l.beat, l.window)
		began, r := time.Now(), &results[i]
		program, _ := os.Executable() // on an error, Output has one too
		child := exec.CommandContext(ctx, program, os.Args[1:]...)
		child.Env, child.Stderr = append(os.Environ(), "HEARTBEATS_WAY="+way), os.Stderr
		out, err := child.Output()
		if ctx.Err() != nil {
			return
		} else if err != nil {
			log.Fatalf("%s: %v", way, err)
		}
		fmt.Sscan(string(out), &r.CPU, &r.Wakes, &r.Heap, &r.Latest, &r.Closed, &r.Others)
		fmt.Printf("  closed %d of %d silent connections and %d others; took %.1f s\n", r.Closed, (l.connections-1)/silentShare+1, r.Others, time.Since(began).Seconds())
	}
	fmt.Printf("\nWhat each takes beyond the load alone, which is in the last line:\n%-14s%20s%10s%12s%14s%22s\n",
		"", "processor time, ms/s", "ns/beat", "wake-ups/s", "B/connection", "latest close, ms late")
	none, n, seconds := results[len(ways)-1], float64(l.connections), l.window.Seconds()
	for i, r := range results {
		if i < len(ways)-1 {
			r.CPU, r.Wakes, r.Heap = r.CPU-none.CPU, r.Wakes-none.Wakes, r.Heap-none.Heap
		}
		row := fmt.Sprintf("%-14s%20.2f%10.0f%12.0f%14.0f%22.1f\n", ways[i],
			r.CPU/seconds*1e3, r.CPU/seconds*l.beat.Seconds()/n*1e9, r.Wakes/seconds, r.Heap/n, r.Latest*1e3)
		fmt.Print(strings.NewReplacer("NaN", "  -", "-Inf", "   -").Replace(row)) // unknown, or none
	}
}

// A load is the connections and their beats, the same for each way.
type load struct {
	connections           int
	beat, timeout, window time.Duration
	began                 time.Time
	all                   []connection
	order                 []int // in which they beat
	sent                  int
}

// A connection has times since the load began; 0 is never.
type connection struct {
	silent time.Duration // no beat from then on
	beat   time.Duration // the last one
	closed atomic.Int64
}

// A result is what a way took, in seconds and bytes. Closed counts the silent connections that it
// closed, Others those that it should not have closed, or not yet.
type result struct {
	CPU, Wakes, Heap, Latest float64
	Closed, Others           int
}

func (l *load) tick() time.Duration   { return l.timeout / 300 }
func (l *load) sweeps() time.Duration { return l.timeout / 30 } // from one to the next
func (l *load) now() time.Duration    { return time.Since(l.began) }
func (l *load) close(i int)           { l.all[i].closed.CompareAndSwap(0, int64(l.now())) }

// measure lets a way settle for a beat, and then measures it for the window.
func (l *load) measure(ctx context.Context, way string) (r result) {
	random := rand.New(rand.NewPCG(1, 2)) // the same for each way
	l.began, l.all, l.order = time.Now(), make([]connection, l.connections), random.Perm(l.connections)
	for i := 0; i < l.connections; i += silentShare {
		l.all[i].silent = l.beat + time.Duration(random.Int64N(int64(l.window-l.timeout-2*l.sweeps())))
	}
	beat := l.watch(ctx, way)
	runtime.GC()
	l.run(l.beat, beat)
	cpu, wakes := usage()
	l.run(l.beat+l.window, beat)
	r.CPU, r.Wakes = usage()
	r.CPU, r.Wakes = r.CPU-cpu, r.Wakes-wakes
	r.Latest = math.Inf(-1)
	for i := range l.all {
		c, closed := &l.all[i], time.Duration(l.all[i].closed.Load())
		switch late := closed - c.beat - l.timeout; {
		case closed == 0:
		case c.silent == 0 || late < 0:
			r.Others++
		default:
			r.Closed++
			r.Latest = max(r.Latest, late.Seconds())
		}
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.Heap = float64(memory.HeapAlloc)
	runtime.KeepAlive([]any{l, beat}) // with none, nothing else holds them
	return r
}

// run sends the beats that are due, step by step until a time.
func (l *load) run(until time.Duration, beat func(i int)) {
	for ticks, now := time.Tick(step), l.now(); now < until; {
		<-ticks
		now = l.now()
		for due := int(now.Seconds() / l.beat.Seconds() * float64(l.connections)); l.sent < due; l.sent++ {
			i := l.order[l.sent%l.connections]
			if c := &l.all[i]; (c.silent == 0 || now < c.silent) && c.closed.Load() == 0 {
				beat(i)
				c.beat = now // the clock is read once for all
			}
		}
	}
}

// watch lets a way close what is silent. It returns what the way does at a beat.
func (l *load) watch(ctx context.Context, way string) (beat func(i int)) {
	switch way {
	case "wheel":
		wheel, err := timingwheel.NewTimers(l.tick(), 512, timingwheel.WithName("connections"))
		if err != nil {
			log.Fatal(err)
		}
		context.AfterFunc(ctx, wheel.Stop)
		return withTimers(l, wheel.AfterFunc)
	case "sweep":
		beats := make([]atomic.Int64, l.connections)
		go func() {
			for ; ctx.Err() == nil; time.Sleep(l.sweeps()) {
				last := int64(l.now() - l.timeout)
				for i := range beats {
					if beats[i].Load() <= last {
						l.close(i)
					}
				}
			}
		}()
		return func(i int) { beats[i].Store(int64(l.now())) }
	case "package time":
		return withTimers(l, time.AfterFunc)
	}
	return func(int) {}
}

func withTimers[T interface{ Reset(time.Duration) bool }](l *load, afterFunc func(time.Duration, func()) T) (beat func(i int)) {
	timers := make([]T, l.connections)
	for i := range timers {
		// As in a server that has run for long, timers are due one by one. The first beat moves them.
		timers[i] = afterFunc(2*l.beat+rand.N(l.timeout-2*l.beat+1), func() { l.close(i) })
	}
	return func(i int) { timers[i].Reset(l.timeout) }
}
