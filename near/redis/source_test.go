package redis_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// Catches: a kind of change that is not told, and a key that is not watched.
func TestSourceTells(t *testing.T) {
	for name, args := range modes {
		t.Run(name, func(t *testing.T) { tellsAll(t, server(t, args...), name != "tracking") })
	}
}

func tellsAll(t *testing.T, s *redistest.Server, twice bool) {
	w := watch(t, open(t, redis.Options{}, s.Addr), lag)
	for _, c := range []struct {
		key      string
		commands [][]string
	}{
		{"item:other prefix", [][]string{{"SET", "item:other prefix", "1"}}},
		{"user:hash", [][]string{{"HSET", "user:hash", "f", "1"}}},
		{"user:" + strings.Repeat("k", 1<<20), [][]string{{"SET", "user:" + strings.Repeat("k", 1<<20), "1"}}},
	} {
		w.TellsKey(t, c.key, func() {
			for _, command := range c.commands {
				do(t, s, command...)
			}
		})
	}
	w.TellsKey(t, "user:last", func() {
		do(t, s, "SET", "nobody:1", "1")
		do(t, s, "SET", "user:last", "1")
	})
	if w.Told().Count("nobody:1") > 0 {
		t.Error("a key without the prefix was told")
	}
	alone := [][]string{{"FLUSHALL"}, {"FLUSHDB"}}
	if twice {
		swap := []string{"SWAPDB", "0", "1"}
		alone = append(alone, swap, swap) // the second one brings the first database back
	}
	for _, all := range slices.Repeat(alone, 5) { // at once after the one before was told
		alls := 0
		w.Tells(t, all[0]+" on the same connection", func() {
			alls = w.Told().Alls
			do(t, s, all...)
		}, func(told neartest.Told) bool { return told.Alls > alls })
	}
}

// Catches: the question of an instance that does not track, told as a change to those that do; the beat of a relay.
func TestQuestionsAreNoChanges(t *testing.T) {
	s := server(t)
	for _, o := range []redis.Options{{Prefixes: []string{""}}, {Prefixes: []string{""}, Channel: "changes"}} {
		r := open(t, o, s.Addr)
		w := watch(t, r, lag)
		ours := []string{"near:beat:{1}:x:1", "near:relay:x:beat"}
		w.TellsKey(t, "last", func() {
			for _, key := range append(ours, "last") {
				check(t, r.Set(t.Context(), key, near.Item{State: near.Absent}))
			}
		})
		for _, key := range ours {
			if w.Told().Count(key) > 0 {
				t.Errorf("channel %q: %s was told", o.Channel, key)
			}
		}
	}
}

// Catches: keys of one large message that are lost.
func TestSourceTellsAMultiOfTenThousand(t *testing.T) {
	s := server(t)
	w := watch(t, open(t, redis.Options{}, s.Addr), lag)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true})
	check(t, err)
	defer c.Close()
	commands := rueidis.Commands{c.B().Multi().Build()}
	for i := range 10_000 {
		commands = append(commands, c.B().Set().Key("user:"+strconv.Itoa(i)).Value("1").Build())
	}
	commands = append(commands, c.B().Exec().Build())
	for i := range commands {
		commands[i] = commands[i].Pin() // they may be sent again
	}
	first := 0
	w.Tells(t, "10,000 keys", func() {
		first = len(w.Told().Keys)
		for _, reply := range c.DoMulti(t.Context(), commands...) {
			check(t, reply.Error())
		}
	}, func(told neartest.Told) bool { return len(told.Keys)-first >= 10_000 })
	keys := slices.Sorted(slices.Values(w.Told().Keys[first:]))
	if n := len(slices.Compact(keys)); n != 10_000 {
		t.Errorf("%d different keys were told", n)
	}
}

// Catches: a snapshot with old values that nobody hears of; a warning of a server that begins
// empty.
func TestSnapshotIsLogged(t *testing.T) {
	var text bytes.Buffer
	var mu sync.Mutex // guards text
	logger := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}), nil))
	warned := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(text.String(), "snapshot")
	}
	s := server(t)
	w := watch(t, open(t, redis.Options{Logger: logger}, s.Addr), lag)
	for _, loaded := range []bool{false, true} {
		if loaded {
			do(t, s, "SET", "k", "1")
			do(t, s, "SAVE")
		}
		w.AwaitAgain(t, "the restart", func() { s.Kill(); check(t, s.Restart()) })
		if warned() != loaded {
			t.Errorf("after a start with a snapshot (%t): %s", loaded, &text)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Catches: a source that vouches during a long script, when Redis acknowledges changes and
// tells of them only afterwards.
func TestBusyScript(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, args := range modes {
		t.Run(name, func(t *testing.T) {
			s := server(t, append(args, "--lua-time-limit", "200")...) // milliseconds
			w := watch(t, open(t, redis.Options{}, s.Addr), 3*time.Second)
			w.AwaitAgain(t, "the end of the script", func() {
				go s.Do("EVAL", "while true do end", "0") // it ends with an error
				w.AwaitLost(t, "BUSY")
				do(t, s, "SCRIPT", "KILL")
			})
			w.TellsKey(t, "user:after", func() { do(t, s, "SET", "user:after", "1") })
		})
	}
}

// A stuck watcher is in the middle of its first Changed until it is released.
type stuck struct {
	*neartest.Recorder
	inside  sync.Once
	entered chan struct{}
	release chan struct{}
}

func (s *stuck) Changed(keys ...string) {
	s.inside.Do(func() { close(s.entered); <-s.release })
	s.Recorder.Changed(keys...)
}

// Catches: a watcher that Redis waits for with its memory, and one that is not told what
// it missed.
func TestStuckWatcherCostsRedisNothing(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	w := &stuck{Recorder: neartest.NewRecorder(t, lag), entered: make(chan struct{}), release: make(chan struct{})}
	stop := neartest.Watch(r, w)
	w.Await(t, "the first Current", func(told neartest.Told) bool { return told.Serving })
	do(t, s, "SET", "user:first", "1")
	<-w.entered
	long := strings.Repeat("x", 1000)
	for i := range 30 { // 30 MB of keys, more than an inbox takes
		fill := `for i = 1, 1000 do redis.call('SET', 'user:' .. ARGV[1] .. ARGV[2] .. i, '1', 'PX', 60000) end`
		do(t, s, "EVAL", fill, "0", long, strconv.Itoa(i))
	}
	do(t, s, "PING")
	if omem := field(tracker(t, s), "omem"); omem > 1<<20 {
		t.Errorf("Redis keeps %d bytes for a watcher that is stuck", omem)
	}
	alls := w.Told().Alls
	close(w.release)
	w.Await(t, "the ChangedAll for what did not fit", func(told neartest.Told) bool { return told.Alls > alls })
	stop()
}

// field returns a number of a line of CLIENT LIST.
func field(line, name string) int {
	n := 0
	if m := regexp.MustCompile(`\b` + name + `=(\d+)`).FindStringSubmatch(line); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	return n
}
