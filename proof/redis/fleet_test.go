package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// TestMain finds leaked goroutines. go-zero leaves one for each count of a cache.
func TestMain(m *testing.M) {
	redistest.VerifyTestMain(m, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/stores/cache.NewStat.func1"))
}

const (
	maxLag    = 300 * time.Millisecond
	keys      = 40
	instances = 3
	prefix    = "row:"
	patience  = time.Minute // for what must happen
)

// A row is the value of a key in the database: the number of its changes.
type row struct{ Version int }

// A version is a version of a row, with the time when the removal of the copy in Redis was
// acknowledged.
type version struct {
	number int
	acked  time.Time
}

// A database has the rows, and the times of acknowledged versions.
type database struct {
	mu    sync.Mutex
	rows  [keys]int
	acked [keys][]version // in order: a key has one writer
	gone  [keys]version   // the last that has replaced others in the whole fleet
	reads int
}

func (d *database) read(key int) row {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	return row{d.rows[key]}
}

func (d *database) write(key int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[key]++
	return d.rows[key]
}

// acknowledge records that a version has been written and its copies removed.
func (d *database) acknowledge(key, number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked[key] = append(d.acked[key], version{number, time.Now()})
}

// removed records that nobody can have older versions of a row than its present one. A key has one writer.
func (d *database) removed(key int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone[key] = version{d.rows[key], time.Now()}
}

// wasRemoved reports whether a version had been removed from the whole fleet before a moment.
func (d *database) wasRemoved(key, number int, at time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return number < d.gone[key].number && d.gone[key].acked.Before(at)
}

// staleness returns how long before a moment a version was replaced: 0 if it was current.
func (d *database) staleness(key, number int, at time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	acked := d.acked[key]
	next := sort.Search(len(acked), func(i int) bool { return acked[i].number > number })
	if next < len(acked) && acked[next].acked.Before(at) {
		return at.Sub(acked[next].acked)
	}
	return 0
}

// An instance is the cache of an instance.
type instance interface {
	Take(ctx context.Context, key int, fetch func(ctx context.Context) (row, error)) (row, error)
	Del(ctx context.Context, keys ...int) error
	Stats() stats.Snapshot
}

// A fleet is some instances of a service, each with a cache and connections of its own.
type fleet struct {
	db       database
	caches   []instance
	leave    []time.Duration // after which the readers of each instance give up
	lateness lateness
	enough   bool // was read and written to tell

	mu      sync.Mutex
	reads   int
	errors  int
	stale   int           // reads beyond maxLag
	excused int           // reads beyond maxLag while timers were late
	worst   time.Duration // of the reads not excused
	written int
	removed int // from the whole fleet
	revived int // reads of what had been
}

// connect makes an instance. wrap may change the events of its source.
func (f *fleet) connect(t testing.TB, o redis.Options, wrap func(near.Source) near.Source) {
	t.Helper()
	o.Prefixes = []string{prefix}
	r, err := redis.New(t.Context(), o)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); { // ConnWriteTimeout is short
		r, err = redis.New(t.Context(), o)
	}
	check(t, err)
	var source near.Source = r
	if wrap != nil {
		source = wrap(r)
	}
	c, err := near.New(r, source, near.Options[int, row]{
		Prefix: prefix, MaxLag: maxLag, Expire: time.Minute, Lease: 200 * time.Millisecond, Timeout: o.Client.ConnWriteTimeout,
	})
	check(t, err)
	f.caches = append(f.caches, c)
	t.Cleanup(func() {
		inTime(t, "Close", func() {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			r.Close()
		})
	})
}

// someLeave has readers of whom some give up soon, so that memory is read while Redis is
// silent.
var someLeave = []time.Duration{time.Minute, 20 * time.Millisecond, 20 * time.Millisecond}

// newFleet connects three instances to addrs.
func newFleet(t testing.TB, o redis.Options, addrs ...string) *fleet {
	t.Helper()
	f := &fleet{leave: someLeave}
	o.Client.InitAddress = addrs
	o.Client.ConnWriteTimeout = maxLag
	for range instances {
		f.connect(t, o, nil)
	}
	return f
}

// run lets all instances read and write until during returns, and for a moment after it, to
// see its effects.
func (f *fleet) run(t testing.TB, during func()) {
	t.Helper()
	f.runWith(t, f.del, during)
}

// runWith is run with writers that remove the copy of a key by del.
func (f *fleet) runWith(t testing.TB, del func(ctx context.Context, instance, key int) error, during func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	f.lateness.start()
	defer func() {
		stop()
		inTime(t, "readers and writers", all.Wait)
		f.lateness.stop()
	}()
	for i := range f.caches {
		for _, leave := range f.leave {
			all.Go(func() {
				for ctx.Err() == nil {
					f.read(ctx, leave, f.caches[i], rand.N(keys))
					time.Sleep(100 * time.Microsecond) // other tests run in parallel
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				f.write(ctx, i, rand.N(keys/instances)*instances+i, del) // one writer for each key
				time.Sleep(time.Millisecond)
			}
		})
	}
	during()
	time.Sleep(2 * maxLag)
	for end := time.Now().Add(patience); ; time.Sleep(maxLag) { // a busy machine
		if f.enough = f.saysEnough(); f.enough || time.Now().After(end) {
			return // the deferred stop cancels reads, which count too: what is enough is decided before
		}
	}
}

// read gives up after a time.
func (f *fleet) read(ctx context.Context, leave time.Duration, c instance, key int) {
	ctx, cancel := context.WithTimeout(ctx, leave)
	defer cancel()
	began := time.Now()
	got, err := c.Take(ctx, key, func(context.Context) (row, error) { return f.db.read(key), nil })
	stale, revived := time.Duration(0), false
	if err == nil {
		stale, revived = f.db.staleness(key, got.Version, began), f.db.wasRemoved(key, got.Version, began)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if err != nil {
		f.errors++
	}
	if revived && !f.lateness.excuses(began, maxLag) {
		f.revived++
	}
	switch {
	case stale > maxLag && f.lateness.excuses(began, stale):
		f.excused++
		return
	case stale > maxLag:
		f.stale++
	}
	f.worst = max(f.worst, stale)
}

// write changes a row and acknowledges it when the copy in Redis is removed.
func (f *fleet) write(ctx context.Context, instance, key int, del func(context.Context, int, int) error) {
	number := f.db.write(key)
	for del(ctx, instance, key) != nil {
		if ctx.Err() != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.db.acknowledge(key, number)
	f.mu.Lock()
	f.written++
	f.mu.Unlock()
}

func (f *fleet) del(ctx context.Context, instance, key int) error {
	return f.caches[instance].Del(ctx, key)
}

// remove is del, or removes the key from the whole fleet.
func (f *fleet) remove(ctx context.Context, instance, key int) (err error) {
	c := f.caches[instance].(*near.Cache[int, row])
	switch rand.N(4) {
	case 0:
		return f.del(ctx, instance, key)
	case 1:
		_, err = c.DelPrefix(ctx, strconv.Itoa(key)) // and others
	default:
		err = c.Revoke(ctx, key)
	}
	if err == nil {
		f.db.removed(key)
		f.mu.Lock()
		f.removed++
		f.mu.Unlock()
	}
	return err
}

// foreignDel returns a del by a program without near caches, over a connection of its own. It
// has further commands follow.
func (f *fleet) foreignDel(t testing.TB, s *redistest.Server, further ...string) func(context.Context, int, int) error {
	t.Helper()
	plain, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, AlwaysRESP2: true})
	check(t, err)
	t.Cleanup(plain.Close)
	return func(ctx context.Context, _, key int) error {
		commands := rueidis.Commands{plain.B().Del().Key(keyOf(key)).Build()}
		for _, name := range further {
			commands = append(commands, plain.B().Arbitrary(name).Build())
		}
		for _, reply := range plain.DoMulti(ctx, commands...) {
			if err := reply.Error(); err != nil {
				return err
			}
		}
		return nil
	}
}

// either returns a del that chooses one of two at random.
func either(one, other func(context.Context, int, int) error) func(context.Context, int, int) error {
	return func(ctx context.Context, instance, key int) error {
		if rand.N(2) == 0 {
			return one(ctx, instance, key)
		}
		return other(ctx, instance, key)
	}
}

// verdict fails the test if a read was stale beyond maxLag, or if too little was read or
// written to tell.
func (f *fleet) verdict(t testing.TB) {
	t.Helper()
	t.Log(f)
	if f.excused > 0 {
		t.Logf("NOT JUDGED: %d reads were stale beyond %v while timers of this process were late: near does not promise more then", f.excused, maxLag)
	}
	if f.stale > 0 {
		t.Errorf("%d reads were stale beyond %v, the worst by %v", f.stale, maxLag, f.worst)
	}
	if f.revived > 0 {
		t.Errorf("%d reads were of what had been removed from the whole fleet", f.revived)
	}
	if !f.enough {
		t.Errorf("only %d reads, %d of them from memory, and %d writes", f.reads, f.hits(), f.written)
	}
}

// saysEnough reports whether enough was read, also from memory, and written.
func (f *fleet) saysEnough() bool {
	hits := f.hits()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads >= 1000 && f.written >= 100 && hits >= f.reads/10
}

// untilStale returns when a read was stale beyond maxLag, at the latest after patience.
func (f *fleet) untilStale() {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(maxLag / 10) {
		f.mu.Lock()
		stale := f.stale
		f.mu.Unlock()
		if stale > 0 {
			return
		}
	}
}

func (f *fleet) hits() (hits int) {
	for _, c := range f.caches {
		hits += int(c.Stats().Hits)
	}
	return hits
}

func (f *fleet) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.db.mu.Lock() // a load whose callers have left may still run
	defer f.db.mu.Unlock()
	var lost uint64
	for _, c := range f.caches {
		lost += c.Stats().Near.Reconnects
	}
	return fmt.Sprintf("%d reads (%d local, %d failed), %d of the database, %d writes (%d from the whole fleet), connections lost %d times, worst staleness %v",
		f.reads, f.hits(), f.errors, f.db.reads, f.written, f.removed, lost, f.worst.Round(10*time.Microsecond))
}

var (
	server = redistest.Serve
	do     = redistest.Do
	check  = settle.Must // ends a test with an error that it did not expect
)

func keyOf(key int) string { return prefix + strconv.Itoa(key) }
