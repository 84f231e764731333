package redis_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
		{"user:set", [][]string{{"SET", "user:set", "1"}}},
		{"item:other prefix", [][]string{{"SET", "item:other prefix", "1"}}},
		{"user:del", [][]string{{"SETEX", "user:del", "60", "1"}, {"DEL", "user:del"}}},
		{"user:expired", [][]string{{"SET", "user:expired", "1", "PX", "20"}}},
		{"user:hash", [][]string{{"HSET", "user:hash", "f", "1"}}},
		{"user:\x00\xff\r\n", [][]string{{"SET", "user:\x00\xff\r\n", "1"}}},
		{"user:" + strings.Repeat("k", 1<<20), [][]string{{"SET", "user:" + strings.Repeat("k", 1<<20), "1"}}},
		{"user:big value", [][]string{{"SET", "user:big value", strings.Repeat("v", 1<<20)}}},
	} {
		w.tellsKey(t, c.key, func() {
			for _, command := range c.commands {
				do(t, s, command...)
			}
		})
	}
	n, messages := 0, 2 // when it is written, and when it expires
	if twice {
		messages++ // a TTL has one of its own
	}
	w.tells(t, "the expiry", func() {
		n = count(w, "user:expired")
		do(t, s, "SET", "user:expired", "1", "PX", "20")
	}, func() bool { return countLocked(w, "user:expired") >= n+messages })
	w.tellsKey(t, "user:last", func() {
		do(t, s, "SET", "nobody:1", "1")
		do(t, s, "SET", "user:last", "1")
	})
	if count(w, "nobody:1") > 0 {
		t.Error("a key without the prefix was told")
	}
	alone := [][]string{{"FLUSHALL"}, {"FLUSHDB"}}
	if twice {
		swap := []string{"SWAPDB", "0", "1"}
		alone = append(alone, swap, swap) // the second one brings the first database back
	}
	for _, all := range slices.Repeat(alone, 5) { // at once after the one before was told
		alls := 0
		w.tells(t, all[0]+" on the same connection", func() {
			alls = w.countAlls()
			do(t, s, all...)
		}, func() bool { return w.alls > alls })
	}
}

// Catches: the question of an instance that does not track, told as a change to those that do.
func TestQuestionsAreNoChanges(t *testing.T) {
	s := server(t)
	w := watch(t, open(t, redis.Options{Prefixes: []string{""}}, s.Addr), lag)
	w.tellsKey(t, "last", func() {
		do(t, s, "SET", "near:beat:{1}:x:1", "1")
		do(t, s, "SET", "last", "1")
	})
	if count(w, "near:beat:{1}:x:1") > 0 {
		t.Error("a question was told")
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
	w.tells(t, "10,000 keys", func() {
		w.mu.Lock()
		first = len(w.keys)
		w.mu.Unlock()
		for _, reply := range c.DoMulti(t.Context(), commands...) {
			check(t, reply.Error())
		}
	}, func() bool { return len(w.keys)-first >= 10_000 })
	keys := slices.Sorted(slices.Values(w.keys[first:]))
	if n := len(slices.Compact(keys)); n != 10_000 {
		t.Errorf("%d different keys were told", n)
	}
}

// A checker remembers what was written when, and looks at each Current whether all that
// was written before has been told.
type checker struct {
	recorder
	tell    sync.Mutex
	told    map[string]bool
	written map[string]time.Time // when the write was acknowledged, until it is told
	forgot  int
	missing int
}

func (c *checker) Changed(keys ...string) {
	c.tell.Lock()
	defer c.tell.Unlock()
	for _, key := range keys {
		c.told[key] = true
		delete(c.written, key)
	}
}

// write calls f, which writes a key. A ChangedAll meanwhile may be what tells of it.
func (c *checker) write(key string, f func()) {
	before := c.forgotten()
	f()
	c.tell.Lock()
	defer c.tell.Unlock()
	if !c.told[key] && c.forgot == before {
		c.written[key] = time.Now()
	}
}

func (c *checker) forgotten() int {
	c.tell.Lock()
	defer c.tell.Unlock()
	return c.forgot
}

func (c *checker) ChangedAll() {
	c.tell.Lock()
	c.forgot++
	clear(c.written)
	c.tell.Unlock()
	c.recorder.ChangedAll()
}

func (c *checker) Current(asOf time.Time) {
	c.tell.Lock()
	for _, at := range c.written {
		if at.Before(asOf) {
			c.missing++
		}
	}
	c.tell.Unlock()
	c.recorder.Current(asOf)
}

// Catches: a Current of this question's time instead of the previous one's, or of the
// answer's; a Current that overtakes what it vouches for.
func TestCurrentComesAfterWhatItVouchesFor(t *testing.T) {
	for name, o := range map[string]redis.Options{"tracking": {}, "notifications": {}, "channel": {Channel: "changes"}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, o, server(t, modes[name]...).Addr)
			c := &checker{recorder: recorder{maxLag: 60 * time.Millisecond, news: make(chan struct{}, 1)}, told: map[string]bool{}, written: map[string]time.Time{}}
			stop := watchWith(r, c)
			c.await(t, "the first Current", func() bool { return c.served })
			var writers sync.WaitGroup
			for g := range 4 {
				writers.Go(func() {
					for i := range 2000 {
						key := fmt.Sprintf("user:%d.%d", g, i)
						c.write(key, func() {
							if err := r.Set(t.Context(), key, found("1")); err != nil {
								t.Error(err)
							}
						})
					}
				})
			}
			writers.Wait()
			wrote := time.Now()
			c.await(t, "all to be vouched for", func() bool { return c.asOf.After(wrote) })
			stop()
			if c.missing > 0 {
				t.Errorf("%d changes were vouched for before they were told", c.missing)
			}
		})
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
		w.awaitAgain(t, "the restart", func() { s.Kill(); check(t, s.Restart()) })
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
			w.awaitAgain(t, "the end of the script", func() {
				go s.Do("EVAL", "while true do end", "0") // it ends with an error
				w.awaitLost(t, "BUSY")
				do(t, s, "SCRIPT", "KILL")
			})
			w.tellsKey(t, "user:after", func() { do(t, s, "SET", "user:after", "1") })
		})
	}
}

// A stuck watcher is in the middle of its first Changed until it is released.
type stuck struct {
	recorder
	inside  sync.Once
	entered chan struct{}
	release chan struct{}
}

func (s *stuck) Changed(keys ...string) {
	s.inside.Do(func() { close(s.entered); <-s.release })
	s.recorder.Changed(keys...)
}

// Catches: a watcher that Redis waits for with its memory, and one that is not told what
// it missed.
func TestStuckWatcherCostsRedisNothing(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	w := &stuck{recorder: recorder{maxLag: lag, news: make(chan struct{}, 1)}, entered: make(chan struct{}), release: make(chan struct{})}
	stop := watchWith(r, w)
	w.await(t, "the first Current", func() bool { return w.served })
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
	alls := w.countAlls()
	close(w.release)
	w.await(t, "the ChangedAll for what did not fit", func() bool { return w.alls > alls })
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
