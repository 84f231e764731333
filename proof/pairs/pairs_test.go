// Package pairs lets the features of a cache meet: every option with every other, and every
// method in every function of the user, with every context that one can have there.
//
// A round has a cache with options drawn at random, and goroutines of a program that call its
// methods. The cache calls functions of the user: a fetch, OnRemove, Weigh, Negative, those of
// DelFunc, Compute and Save. Each is an [actor], who calls methods too, sleeps, panics or ends.
//
// A round runs in the fake time of testing/synctest. So a promise about time is checked
// exactly, on a machine of any speed. Fake time stands still while a goroutine waits for a
// lock: then a watchdog in real time ends the process. TestSoak has long rounds in real time.
//
// What an actor does depends on the seed and on the actor's place in the round. So a seed
// replays a round, but for the order of goroutines that wake up at the same moment.
package pairs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	runFor    = flag.Duration("pairs.for", 0, "how long to play rounds; 0 for -pairs.rounds")
	seedOpt   = flag.Uint64("pairs.seed", 0, "the seed of the first round, from which the others count on; 0 for a new one")
	roundsOpt = flag.Int("pairs.rounds", usualRounds, "how many rounds to play; with 1, tell what happens in it")
)

const (
	usualRounds = 2000            // take some seconds of processor time
	patience    = 2 * time.Minute // with a round, which usually takes milliseconds
)

// TestPairs plays rounds, up to the first that fails. To see what happens in that:
//
//	go test -C proof ./pairs -run TestPairs -v -count 50 -failfast -pairs.rounds 1 -pairs.seed …
//
// Catches: a wait without end, a lock that is held while a function of the user or a method
// of a context runs, a caller that waits longer than Timeout or its context, a second fetch
// of a key, a panic in a goroutine of the cache, values that leave twice or never, wrong
// counts, and whatever runs after Close.
func TestPairs(t *testing.T) {
	seed := firstSeed()
	s := &stage{folder: t.TempDir(), trace: *roundsOpt == 1}
	watchdog := time.AfterFunc(patience, s.hang)
	defer watchdog.Stop()
	n := 0
	for began := time.Now(); n < *roundsOpt && *runFor == 0 || time.Since(began) < *runFor; n++ {
		if n%100 == 0 { // nothing else tells of a panic in a goroutine of the cache
			fmt.Printf("rounds from -pairs.seed %d on\n", seed)
		}
		watchdog.Reset(patience)
		s.play(t, seed)
		seed++
	}
	if n >= usualRounds {
		s.checkMet(t)
	}
}

// firstSeed returns the seed that was asked for, or a new one.
func firstSeed() uint64 {
	if *seedOpt != 0 {
		return *seedOpt
	}
	return rand.Uint64() >> 32
}

// A stage is what rounds have in common.
type stage struct {
	folder string
	trace  bool
	soak   bool          // rounds are in real time, and long
	late   time.Duration // how late a call may return
	calls  atomic.Uint64
	seed   atomic.Uint64 // of the round that is played
	met    sync.Map      // pairs of a kind of actor and a method that it has called
}

// play plays the round of a seed.
func (s *stage) play(t *testing.T, seed uint64) {
	s.seed.Store(seed)
	defer func() {
		if p := recover(); p != nil { // all goroutines wait for each other
			fmt.Println(p)
			s.hang()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		r := newRound(s, t, diceFor(seed))
		for phase := range 2 {
			r.act(phase)
			r.quieten()
		}
		r.end()
	})
}

// hang ends the process, with the stacks of all goroutines.
func (s *stage) hang() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Printf("the round of -pairs.seed %d hangs\n%s\n", s.seed.Load(), stacks)
	os.Exit(1)
}

// meet notes that an actor has called a method.
func (s *stage) meet(kind, method string) { s.met.Store([2]string{kind, method}, true) }

// checkMet checks that each kind of actor has called a quarter of the methods at least.
func (s *stage) checkMet(t *testing.T) {
	met := map[string]int{}
	s.met.Range(func(pair, _ any) bool { met[pair.([2]string)[0]]++; return true })
	for _, kind := range append([]string{"the program"}, kinds...) {
		if met[kind] < len(methods)/4 {
			t.Errorf("%s has called %d methods of %d", kind, met[kind], len(methods))
		}
	}
}

// Catches: a new method that no actor calls.
func TestEveryMethodIsAMethod(t *testing.T) {
	c := reflect.TypeFor[*cache.Cache[int, value]]()
	for i := range c.NumMethod() {
		if name := c.Method(i).Name; !slices.ContainsFunc(methods, func(m method) bool { return m.name == name }) {
			t.Errorf("no actor calls %s: it belongs into methods", name)
		}
	}
}
