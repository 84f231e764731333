package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

const lag = 300 * time.Millisecond

// Catches: a kind of change that is not told, and a key that is not watched.
func TestSourceTells(t *testing.T) {
	for name, args := range ways {
		t.Run(name, func(t *testing.T) { testSourceTells(t, server(t, args...)) })
	}
}

// ways have the arguments of servers that tell of changes in one way or the other.
var ways = map[string][]string{"tracking": nil, "keyspace": redistest.WithoutTracking}

func testSourceTells(t *testing.T, s *redistest.Server) {
	w := neartest.Record(t, open(t, redis.Options{}, s.Addr), lag)
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
		for _, command := range c.commands {
			do(t, s, command...)
		}
		w.AwaitKey(t, c.key)
	}
	// Twice: when it was written, and when it expired.
	w.Await(t, "the expiry", func() bool {
		return 2 <= len(slices.DeleteFunc(slices.Clone(w.Keys), func(k string) bool { return k != "user:expired" }))
	})
	do(t, s, "SET", "nobody:1", "1")
	do(t, s, "SET", "user:last", "1")
	w.AwaitKey(t, "user:last")
	if slices.Contains(w.Keys, "nobody:1") {
		t.Error("a key without the prefix was told")
	}
	for _, all := range []string{"FLUSHALL", "FLUSHDB"} {
		w.AwaitAgain(t, all, func() { do(t, s, all) })
	}
	if len(w.Losts) > 0 {
		t.Errorf("FLUSHALL took the source down: %v", w.Losts)
	}
}

// Catches: keys of one large message that are lost.
func TestSourceTellsAMultiOfTenThousand(t *testing.T) {
	s := server(t)
	w := neartest.Record(t, open(t, redis.Options{}, s.Addr), lag)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	commands := rueidis.Commands{c.B().Multi().Build()}
	for i := range 10_000 {
		commands = append(commands, c.B().Set().Key("user:"+strconv.Itoa(i)).Value("1").Build())
	}
	for _, reply := range c.DoMulti(t.Context(), append(commands, c.B().Exec().Build())...) {
		if err := reply.Error(); err != nil {
			t.Fatal(err)
		}
	}
	w.Await(t, "10,000 keys", func() bool { return len(w.Keys) >= 10_000 })
	slices.Sort(w.Keys)
	if n := len(slices.Compact(w.Keys)); n != 10_000 {
		t.Errorf("%d different keys were told", n)
	}
}

// A checker remembers what was written when, and looks at each Current whether all that
// was written before has been told.
type checker struct {
	*neartest.Recorder
	tell    sync.Mutex
	told    map[string]bool
	written map[string]time.Time // when the write was acknowledged, until it is told
	forgot  int
	missing int
}

func newChecker(maxLag time.Duration) *checker {
	return &checker{Recorder: neartest.NewRecorder(maxLag), told: map[string]bool{}, written: map[string]time.Time{}}
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
	c.Recorder.ChangedAll()
}

func (c *checker) Current(asOf time.Time) {
	c.tell.Lock()
	for _, at := range c.written {
		if at.Before(asOf) {
			c.missing++
		}
	}
	c.tell.Unlock()
	c.Recorder.Current(asOf)
}

// Catches: a Current of this question's time instead of the previous one's, or of the
// answer's; a Current that overtakes what it vouches for.
func TestCurrentComesAfterWhatItVouchesFor(t *testing.T) {
	s := server(t)
	untracked := server(t, redistest.WithoutTracking...)
	for name, o := range map[string]redis.Options{"tracking": {}, "channel": {Channel: "changes"}, "keyspace": {}} {
		t.Run(name, func(t *testing.T) {
			if name == "keyspace" {
				s = untracked
			}
			r := open(t, o, s.Addr)
			c := newChecker(60 * time.Millisecond)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { r.Watch(ctx, c); close(done) }()
			c.Await(t, "the first Current", func() bool { return c.Served })
			var writers sync.WaitGroup
			for g := range 4 {
				writers.Go(func() {
					for i := range 2000 {
						key := fmt.Sprintf("user:%d.%d", g, i)
						c.write(key, func() {
							if err := r.Set(ctx, key, found("1")); err != nil {
								t.Error(err)
							}
						})
					}
				})
			}
			writers.Wait()
			wrote := time.Now()
			c.Await(t, "all to be vouched for", func() bool { return c.AsOf.After(wrote) })
			stop()
			<-done
			if c.missing > 0 {
				t.Errorf("%d changes were vouched for before they were told", c.missing)
			}
		})
	}
}

// Catches: a source that goes deaf when its connection is gone, or serves before it has
// said that everything may have changed.
func TestSourceReconnects(t *testing.T) {
	for name, args := range ways {
		t.Run(name, func(t *testing.T) { testSourceReconnects(t, server(t, args...)) })
	}
}

func testSourceReconnects(t *testing.T, s *redistest.Server) {
	w := neartest.Record(t, open(t, redis.Options{}, s.Addr), lag)
	for round, fault := range []func(){
		func() { do(t, s, "CLIENT", "KILL", "TYPE", "normal") },
		func() { do(t, s, "CLIENT", "KILL", "SKIPME", "yes") }, // also subscribers
		func() { s.Kill(); check(t, s.Restart()) },
		func() {
			check(t, s.Pause())
			w.Await(t, "Lost", func() bool { return !w.Served })
			check(t, s.Resume())
		},
	} {
		w.AwaitAgain(t, "the reconnect", fault)
		key := fmt.Sprint("user:after ", round)
		do(t, s, "SET", key, "1")
		w.AwaitKey(t, key)
	}
	if len(w.Losts) < 4 {
		t.Errorf("four faults, and lost %v", w.Losts)
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
	w := &stuck{Recorder: neartest.NewRecorder(lag), entered: make(chan struct{}), release: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Watch(ctx, w); close(done) }()
	w.Await(t, "the first Current", func() bool { return w.Served })
	do(t, s, "SET", "user:first", "1")
	<-w.entered
	long := strings.Repeat("x", 1000)
	for i := range 30 { // 30 MB of keys, more than an inbox takes
		fill := `for i = 1, 1000 do redis.call('SET', 'user:' .. ARGV[1] .. ARGV[2] .. i, '1', 'PX', 60000) end`
		do(t, s, "EVAL", fill, "0", long, strconv.Itoa(i))
	}
	do(t, s, "PING")
	list, err := s.Do("CLIENT", "LIST")
	check(t, err)
	text, err := list.ToString()
	check(t, err)
	tracking := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "flags=tB") || strings.Contains(line, "flags=B") {
			tracking++
			if omem := field(line, "omem"); omem > 1<<20 {
				t.Errorf("Redis keeps %d bytes for a watcher that is stuck", omem)
			}
		}
	}
	if tracking == 0 {
		t.Errorf("no connection tracks: %s", text)
	}
	alls := w.Alls
	close(w.release)
	w.Await(t, "the ChangedAll for what did not fit", func() bool { return w.Alls > alls })
	stop()
	<-done
}

func field(line, name string) int {
	_, rest, _ := strings.Cut(line, " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(value)
	return n
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
