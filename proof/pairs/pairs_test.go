package pairs

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	runFor  = flag.Duration("pairs.for", 0, "how long to play rounds, also after some have failed; 0 for a number of them, up to the first that fails")
	fromOpt = flag.Uint64("pairs.from", 0, "the first seed; 0 for a new one")
	seedOpt = flag.Uint64("pairs.seed", 0, "play the round of this seed only, and tell what happens in it")
	times   = flag.Int("pairs.times", 50, "how often to play the round of -pairs.seed: goroutines that wake up at the same moment may take another order")
	absent  = flag.String("pairs.absent", "", "with -pairs.seed: the numbers of goroutines of the program that do nothing, separated by commas; to find out who matters")
	without = flag.String("pairs.without", "", "methods, contexts and actors to leave out, and options to leave zero, separated by commas; to look behind a known defect")
	child   = flag.Int("pairs.child", 0, "how many rounds to play; for the process that TestPairs starts")
)

// usualRounds take some ten seconds of processor time.
const usualRounds = 6000

// TestPairs plays rounds, in another process, as a round may end it.
//
// Catches: a wait without end, a lock that is held while a function of the user or a method
// of a context runs, a caller that waits longer than Timeout or its context, a second fetch
// of a key, a panic in a goroutine of the cache, values that leave twice or never, wrong
// counts, and whatever runs after Close.
//
// To look for longer:
//
//	go test -C proof ./pairs -run TestPairs -pairs.for 1h -timeout 0
func TestPairs(t *testing.T) {
	if *seedOpt > 0 {
		replay(t)
		return
	}
	first := *fromOpt
	if first == 0 {
		first = rand.Uint64() >> 24
	}
	s := search{t: t, began: time.Now(), found: map[string]*finding{}}
	for next := first; s.more(next - first); {
		next = s.play(next, usualRounds-int((next-first)%usualRounds))
	}
	s.report()
}

// A search looks for rounds that fail.
type search struct {
	t     *testing.T
	began time.Time
	found map[string]*finding // by what they have in common
	met   meetings
}

// A finding is what fails in some rounds.
type finding struct {
	seed  uint64 // of the first
	out   string // what it has printed
	after time.Duration
	times int
}

// more reports whether to go on after some rounds.
func (s *search) more(played uint64) bool {
	if *runFor > 0 {
		return time.Since(s.began) < *runFor
	}
	return played < usualRounds && len(s.found) == 0
}

// play plays up to n rounds, from a seed on, and returns the seed after the last.
func (s *search) play(from uint64, n int) (next uint64) {
	out, err := start(s.t, "-pairs.from", fmt.Sprint(from), "-pairs.child", strconv.Itoa(n))
	if err == nil {
		for line := range strings.Lines(out) {
			s.met.scan(line)
		}
		return from + uint64(n)
	}
	seed, out := lastRound(out)
	key := signature(out)
	f := s.found[key]
	if f == nil {
		f = &finding{seed: seed, out: out, after: time.Since(s.began)}
		s.found[key] = f
		s.t.Logf("seed %d, after %v: %s", seed, f.after.Round(time.Millisecond), key)
	}
	f.times++
	return seed + 1
}

func (s *search) report() {
	for _, f := range s.found {
		s.t.Errorf("%d rounds fail like that of seed %d. To see what happens in it: go test -C proof ./pairs -run TestPairs -pairs.seed %d\n%s", f.times, f.seed, f.seed, f.out)
	}
	if len(s.found) > 0 || *without != "" || *runFor > 0 {
		return
	}
	for _, missing := range s.met.missing() {
		s.t.Error(missing)
	}
}

// start plays rounds in another process, and returns what that has printed.
func start(t *testing.T, flags ...string) (out string, err error) {
	cmd := exec.Command(os.Args[0], append([]string{"-test.run", "^TestRounds$", "-test.timeout", "0", "-pairs.without", *without}, flags...)...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), err
}

// lastRound returns the seed of the last round in what a process has printed, and what it
// has printed since.
func lastRound(out string) (seed uint64, rest string) {
	_, err := fmt.Sscanf(out[strings.LastIndex(out, roundMark)+len(roundMark):], "%d", &seed)
	if err != nil {
		return 0, out
	}
	_, rest, _ = strings.Cut(out[strings.LastIndex(out, roundMark)+len(roundMark):], "\n")
	return seed, rest
}

// roundMark is printed before the seed of each round.
const roundMark = "\n=== round "

// replay tells what happens in a round.
func replay(t *testing.T) {
	out, err := start(t, "-pairs.seed", fmt.Sprint(*seedOpt), "-pairs.child", strconv.Itoa(*times), "-pairs.absent", *absent)
	_, out = lastRound(out)
	if err != nil {
		t.Error(out)
	} else {
		t.Logf("%s%d rounds of the seed %d pass", out, *times, *seedOpt)
	}
}

var (
	reasons  = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|HANG: .*|WARNING: DATA RACE| +\w+\.go:\d+: .*)$`)
	frames   = regexp.MustCompile(`pinwheel/cache\.\(\*(\w+)(?:\[\.\.\.\])?\)\.(\w+)`)
	variable = regexp.MustCompile(`\{.*\}| [0-9a-f]{3}\b|\d+(\.\d+)?(ms|s|h|m)*`)
)

// signature returns what rounds that fail for the same reason have in common.
func signature(out string) string {
	key := variable.ReplaceAllString(reasons.FindString(out), "#")
	if _, locked, ok := strings.Cut(out, "[sync.Mutex.Lock,"); ok {
		out, _, _ = strings.Cut(locked, "\n\n")
	}
	if _, ended, ok := strings.Cut(out, "[running"); ok {
		out, _, _ = strings.Cut(ended, "\n\n")
	}
	for n, frame := range frames.FindAllStringSubmatch(out, 5) {
		if n == 0 {
			key += " in"
		}
		key += " " + frame[1] + "." + frame[2]
	}
	return strings.TrimSpace(key)
}

// TestRounds plays rounds in the process that TestPairs has started.
func TestRounds(t *testing.T) {
	if *child == 0 {
		return // not that process: the watch would take TestPairs for a round without progress
	}
	s := &stage{folder: t.TempDir(), trace: *seedOpt > 0, absent: strings.Split(*absent, ","), without: strings.Split(*without, ",")}
	go s.watch()
	for n := range *child {
		seed := *fromOpt + uint64(n)
		if *seedOpt > 0 {
			seed = *seedOpt
		}
		fmt.Printf("%s%d\n", roundMark, seed)
		s.play(t, seed)
		if t.Failed() {
			return
		}
	}
	s.met.print()
}

// Catches: a new method that no actor calls.
func TestEveryMethodIsAMethod(t *testing.T) {
	known := map[string]bool{}
	for _, m := range methods {
		known[m.name] = true
	}
	c := reflect.TypeFor[*cache.Cache[int, value]]()
	for i := range c.NumMethod() {
		if name := c.Method(i).Name; !known[name] {
			t.Errorf("no actor calls %s: it belongs into methods", name)
		}
		delete(known, c.Method(i).Name)
	}
	for name := range known {
		t.Errorf("the cache has no method %s", name)
	}
}
