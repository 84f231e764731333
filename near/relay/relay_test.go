package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/relay"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

const (
	lag  = 300 * time.Millisecond
	beat = "near:relay:test:beat"
)

var errAway = errors.New("away")

// A database has a log of the keys that were written, in order. A position is an index of it.
type database struct {
	leads chan struct{} // full while somebody does
	away  atomic.Bool

	mu      sync.Mutex
	written []string
}

func newDatabase() *database { return &database{leads: make(chan struct{}, 1)} }

func (d *database) write(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = append(d.written, key)
}

func (d *database) Covers(key string) bool { return strings.HasPrefix(key, "k:") }

func (d *database) ID() string { return "test" }

func (d *database) Lead(ctx context.Context, f func(context.Context, relay.Read) error) error {
	select {
	case d.leads <- struct{}{}:
		defer func() { <-d.leads }()
		return f(ctx, d.read)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *database) read(ctx context.Context, since string) (relay.Batch, error) {
	if d.away.Load() {
		return relay.Batch{}, errAway
	}
	d.mu.Lock()
	b := relay.Batch{Position: strconv.Itoa(len(d.written))}
	if from, err := strconv.Atoi(since); err == nil {
		b.Keys = slices.Clone(d.written[from:])
	} else {
		b.Prefixes = []string{"k:"}
	}
	d.mu.Unlock()
	time.Sleep(rand.N(2 * time.Millisecond)) // the answer travels
	return b, nil
}

// A slow store takes time, one way and the other, and fails now and then.
type slow struct {
	*memory.Store
	fails   int                           // of a thousand calls
	stalls  atomic.Bool                   // what is told comes late
	closed  atomic.Pointer[chan struct{}] // calls wait until it is nil, or closed
	marking atomic.Pointer[func()]        // is called once, before a mark is put
}

func (s *slow) do(call func() error) error {
	time.Sleep(rand.N(5 * time.Millisecond))
	if rand.N(1000) < s.fails {
		return errAway
	}
	if opened := s.closed.Load(); opened != nil {
		<-*opened
	}
	err := call()
	time.Sleep(rand.N(5 * time.Millisecond))
	if rand.N(1000) < s.fails {
		return errAway
	}
	return err
}

func (s *slow) Get(ctx context.Context, keys ...string) (items []near.Item, err error) {
	err = s.do(func() (err error) { items, err = s.Store.Get(ctx, keys...); return err })
	return items, err
}

func (s *slow) Lease(ctx context.Context, life time.Duration, keys ...string) (items []near.Item, err error) {
	err = s.do(func() (err error) { items, err = s.Store.Lease(ctx, life, keys...); return err })
	return items, err
}

func (s *slow) Fill(ctx context.Context, key, token string, item near.Item) (filled bool, err error) {
	err = s.do(func() (err error) { filled, err = s.Store.Fill(ctx, key, token, item); return err })
	return filled, err
}

func (s *slow) Set(ctx context.Context, key string, item near.Item) error {
	if strings.HasSuffix(key, ":mark") {
		if f := s.marking.Swap(nil); f != nil {
			(*f)()
		}
	}
	return s.do(func() error { return s.Store.Set(ctx, key, item) })
}

func (s *slow) Del(ctx context.Context, keys ...string) error {
	return s.do(func() error { return s.Store.Del(ctx, keys...) })
}

func (s *slow) DelPrefix(ctx context.Context, prefix string) (n int, err error) {
	err = s.do(func() (err error) { n, err = s.Store.DelPrefix(ctx, prefix); return err })
	return n, err
}

// save returns what the store has, but for leases.
func (s *slow) save(t *testing.T) map[string]near.Item {
	keys := []string{beat, "near:relay:test:mark", "near:relay:test:position"}
	for i := range neartest.Keys {
		keys = append(keys, "k:"+strconv.Itoa(i))
	}
	items, err := s.Store.Get(t.Context(), keys...)
	settle.Must(t, err)
	saved := map[string]near.Item{}
	for i, item := range items {
		if item.State == near.Found {
			saved[keys[i]] = item
		}
	}
	return saved
}

// restore has the store fail, and come back with what it had before. No call notices: each waits. It is another round: one
// that saw nothing of it would go on.
func (s *slow) restore(t *testing.T, saved map[string]near.Item) {
	for range 100 {
		if now := s.save(t)[beat]; string(now.Value) != string(saved[beat].Value) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	opened := make(chan struct{})
	s.closed.Store(&opened)
	defer close(opened)
	s.Store.Fail(errAway)
	time.Sleep(30 * time.Millisecond) // all who watch have lost it
	s.Store.Fail(nil)
	_, err := s.Store.DelPrefix(t.Context(), "")
	settle.Must(t, err)
	for key, item := range saved {
		settle.Must(t, s.Store.Set(t.Context(), key, item))
	}
}

// Watch tells of everything up to 20 ms later, in order.
func (s *slow) Watch(ctx context.Context, w near.Watcher) {
	t := &travelling{Watcher: w, stalls: &s.stalls, events: make(chan func(), 1<<16)}
	var telling sync.WaitGroup
	telling.Go(func() {
		for event := range t.events {
			event()
		}
	})
	s.Store.Watch(ctx, t)
	close(t.events)
	telling.Wait()
}

type travelling struct {
	near.Watcher
	stalls *atomic.Bool
	events chan func()
}

func (t *travelling) later(event func()) {
	due := time.Now().Add(rand.N(20 * time.Millisecond))
	if t.stalls.Load() {
		due = due.Add(lag)
	}
	t.events <- func() {
		time.Sleep(max(time.Until(due), rand.N(time.Millisecond)))
		event()
	}
}

func (t *travelling) MaxLag() time.Duration  { return near.MaxLag(t.Watcher) }
func (t *travelling) Changed(keys ...string) { t.later(func() { t.Watcher.Changed(keys...) }) }
func (t *travelling) ChangedAll()            { t.later(t.Watcher.ChangedAll) }
func (t *travelling) Current(asOf time.Time) { t.later(func() { t.Watcher.Current(asOf) }) }
func (t *travelling) Lost(err error)         { t.later(func() { t.Watcher.Lost(err) }) }

// loading is a cache whose fetches take time.
type loading struct{ *near.Cache[int, int] }

func (c loading) Take(ctx context.Context, key int, fetch func(context.Context) (int, error)) (int, error) {
	return c.Cache.Take(ctx, key, func(ctx context.Context) (int, error) {
		time.Sleep(rand.N(3 * time.Millisecond))
		value, err := fetch(ctx)
		time.Sleep(rand.N(10 * time.Millisecond))
		return value, err
	})
}

// A fleet is three instances, each with a relay, over a database that others write.
type fleet struct {
	neartest.Traffic
	*database
	store *slow
	kill  [3]context.CancelFunc
	runs  sync.WaitGroup
}

func newFleet(t *testing.T, fails int) *fleet {
	f := &fleet{database: newDatabase(), store: &slow{Store: memory.New(), fails: fails}}
	for i := range f.kill {
		f.run(i)
		follower := relay.Follow(f.database, f.store, f.store)
		c, err := near.New(follower, follower, near.Options[int, int]{
			Name: fmt.Sprint("instance ", i), Prefix: "k:", MaxLag: lag, Expire: time.Hour, Lease: 200 * time.Millisecond,
		})
		settle.Must(t, err)
		t.Cleanup(func() { c.Close(context.Background()) })
		f.Add(loading{c}, lag, time.Minute)
	}
	return f
}

// run runs the relay of an instance.
func (f *fleet) run(i int) {
	var ctx context.Context
	ctx, f.kill[i] = context.WithCancel(context.Background())
	f.runs.Go(func() { relay.Run(ctx, f.database, f.store, relay.Options{Every: 20 * time.Millisecond, Timeout: lag}) })
}

// commit is a Removal that only writes the database.
func (f *fleet) commit(_ context.Context, _, key int) error {
	f.write("k:" + strconv.Itoa(key))
	time.Sleep(rand.N(20 * time.Millisecond))
	return nil
}

func (f *fleet) close() {
	for _, kill := range f.kill {
		kill()
	}
	f.runs.Wait()
}

// TestRelay has instances read what only the database knows of, in fake time, while relays die, the store and the database
// are away, calls fail, and the store loses everything, or what it has had since a moment.
//
// Catches: a moment that is vouched for though what was committed before it was not removed, or not told; a relay that
// goes on from behind what it has lost.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 10)
		defer f.close()
		f.Run(t, f.commit, func() {
			for range 40 {
				time.Sleep(rand.N(4 * lag))
				switch rand.N(8) {
				case 0, 1:
					i := rand.N(len(f.kill))
					f.kill[i]()
					time.Sleep(rand.N(2 * lag))
					f.run(i)
				case 2:
					f.store.Fail(errAway)
					time.Sleep(rand.N(2 * lag))
					f.store.Fail(nil)
				case 3:
					f.away.Store(true)
					time.Sleep(rand.N(2 * lag))
					f.away.Store(false)
				case 4:
					f.store.stalls.Store(true)
					time.Sleep(rand.N(2 * lag))
					f.store.stalls.Store(false)
				case 5:
					_, err := f.store.Store.DelPrefix(t.Context(), "")
					settle.Must(t, err)
				default:
					saved := f.store.save(t)
					time.Sleep(rand.N(2 * lag))
					f.store.restore(t, saved)
				}
			}
		})
		f.Verdict(t)
	})
}

// TestWithoutARelay checks that the store is not read while no relay works, nor for MaxLag after that; and that Away
// decides what callers get.
func TestWithoutARelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		store := f.store.Store
		follower := relay.Follow(f.database, store, store)
		c, err := near.New(follower, follower, near.Options[int, int]{Prefix: "k:", Away: near.Fail})
		settle.Must(t, err)
		time.Sleep(3 * time.Second) // MaxLag is one
		take := func() error {
			_, err := c.Take(t.Context(), 1, func(context.Context) (int, error) { return 7, nil })
			return err
		}
		settle.Must(t, take())
		f.close()
		time.Sleep(2 * time.Second)
		if err := take(); !errors.Is(err, relay.ErrSilent) || !errors.Is(err, near.ErrStore) {
			t.Errorf("without a relay: %v", err)
		}
		settle.Must(t, c.Del(t.Context(), 1))
		f.run(0)
		time.Sleep(time.Second)
		if err := take(); !errors.Is(err, relay.ErrSilent) {
			t.Errorf("a second after it is back: %v", err)
		}
		time.Sleep(3 * time.Second)
		settle.Must(t, take())
		settle.Must(t, c.Close(t.Context()))
		f.close()
	})
}

// TestRounds checks what a relay asks of a store and a database: nothing is removed twice, all if the position is lost, and
// what was put back.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		defer f.close()
		time.Sleep(time.Second)
		has := func(key string) bool {
			items, err := f.store.Store.Get(t.Context(), key)
			settle.Must(t, err)
			return items[0].State == near.Found
		}
		set := func(keys ...string) {
			for _, key := range keys {
				settle.Must(t, f.store.Store.Set(t.Context(), key, near.Item{State: near.Found}))
			}
		}
		set("k:1", "k:2", "other:1")
		f.write("k:1")
		time.Sleep(time.Second)
		if has("k:1") || !has("k:2") {
			t.Error("what has changed stays, or another key goes")
		}
		set("k:1")
		f.kill[0]()
		f.kill[1]()
		time.Sleep(time.Second)
		f.write("k:2")
		time.Sleep(time.Second)
		if !has("k:1") || has("k:2") {
			t.Error("after the death of a leader a change is lost, or told again")
		}
		_, err := f.store.Store.DelPrefix(t.Context(), "near:relay:")
		settle.Must(t, err)
		time.Sleep(2 * time.Second)
		if has("k:1") || !has("other:1") {
			t.Error("without a position not all keys of the tables are removed, or others are")
		}
		set("k:1")
		saved := f.store.save(t)
		restore := func() { f.store.restore(t, saved) }
		f.store.marking.Store(&restore)
		f.write("k:1")
		time.Sleep(3 * time.Second)
		if has("k:1") {
			t.Error("what the store has again, after it was removed, stays")
		}
	})
}
