package workers

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

// await waits until is holds.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s", what)
		}
	}
}

// A told is a task that tells whether its goroutine has run another one.
type told chan bool

func (c told) Run(again bool) { c <- again }

// ran runs a task, and reports whether its goroutine has run another one.
func ran(g *Group) bool {
	c := make(told, 1)
	g.Go(c)
	return <-c
}

// A blocked is a task that tells whether its goroutine has run another one, and ends when gate is closed.
type blocked struct {
	gate  chan struct{}
	again chan bool
}

func (b blocked) Run(again bool) { b.again <- again; <-b.gate }

func kept(g *Group, n int32) func() bool { return func() bool { return g.kept.Load() == n } }

// Catches: a goroutine that runs one task only, or waits for ever, or after Close.
func TestGoroutinesWait(t *testing.T) {
	g := new(Group)
	g.Init()
	if ran(g) {
		t.Error("the first task is said to be another")
	}
	await(t, "a goroutine that runs a second task", func() bool { return ran(g) })
	await(t, "the end of those that wait", kept(g, 0))
	if ran(g) {
		t.Error("a goroutine has ended and runs a task")
	}
	await(t, "one that waits", func() bool { return g.kept.Load() > 0 })
	g.Close()
	await(t, "the end of those that wait when it is closed", kept(g, 0))
	ran(g)
	if ran(g) {
		t.Error("a goroutine waits after Close")
	}
}

// Catches: a bubble that cannot end.
func TestZeroGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(Group)
		for range 3 {
			if ran(g) {
				t.Error("a goroutine waits")
			}
			synctest.Wait()
		}
		g.Close()
	})
}

// Catches: goroutines that are counted wrong: too many that wait, or one that has ended and counts.
func TestGoroutinesAreCounted(t *testing.T) {
	g := new(Group)
	g.Init()
	var tasks sync.WaitGroup
	var ran atomic.Int32
	var gates [4 * most]chan struct{}
	for i := range gates {
		gates[i] = make(chan struct{})
		tasks.Add(1)
		g.Go(Func(func() {
			defer tasks.Done()
			<-gates[i]
			ran.Add(1)
			if i%3 == 0 {
				runtime.Goexit()
			}
		}))
	}
	for _, i := range rand.Perm(len(gates)) {
		close(gates[i])
	}
	tasks.Wait()
	gate := make(chan struct{})
	again := make(chan bool, len(gates))
	for range gates {
		g.Go(blocked{gate, again})
	}
	n := 0
	for range gates {
		if <-again {
			n++
		}
	}
	if close(gate); n > most {
		t.Errorf("%d goroutines waited", n)
	}
	for range 1000 {
		tasks.Add(1)
		g.Go(Func(func() { defer tasks.Done(); ran.Add(1) }))
		if rand.N(100) == 0 {
			time.Sleep(rand.N(rest / 20))
		}
	}
	tasks.Wait()
	if n := ran.Load(); n != int32(len(gates))+1000 {
		t.Errorf("%d tasks ran", n)
	}
	await(t, "the end of all", kept(g, 0))
}
