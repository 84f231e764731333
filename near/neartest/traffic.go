package neartest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Keys is how many keys [Traffic] has: 0, 1 and so on.
const Keys = 40

// A Cache is that of an instance: a near.Cache, or another one that promises what it does. Its values are versions.
type Cache interface {
	Take(ctx context.Context, key int, fetch func(ctx context.Context) (int, error)) (int, error)
	Del(ctx context.Context, keys ...int) error
	Stats() stats.Snapshot
}

// A Revoker is a [Cache] that can remove keys from the whole fleet, as near.Cache can.
type Revoker interface {
	Revoke(ctx context.Context, keys ...int) error
	DelPrefix(ctx context.Context, prefix string) (removed int, err error)
}

// A Removal removes what an instance has stored of a key whose next version is in the database: by its cache, or past
// it.
type Removal func(ctx context.Context, instance, key int) error

// Traffic reads and writes by the caches of several instances, and judges each answer. The zero Traffic has no instance:
// Add some, then Run, and ask for the Verdict.
type Traffic struct {
	Oracle Oracle // is the database too

	instances []instance
	lateness  lateness
	enough    bool // was read and written to tell

	mu      sync.Mutex
	reads   int
	fetches int
	failed  int
	wrong   int
	errs    []error       // the first of the wrong ones
	excused int           // wrong while timers were late
	worst   time.Duration // of the reads not excused
	written int
	revoked int
}

type instance struct {
	Cache
	maxLag time.Duration
	leave  []time.Duration
}

// Add adds an instance with its MaxLag. It gets a reader for each of leave, the time after which that gives up. Without
// any there are three, of whom some give up soon, so that memory is read while the store is silent.
func (f *Traffic) Add(c Cache, maxLag time.Duration, leave ...time.Duration) {
	if leave == nil {
		leave = []time.Duration{time.Minute, 20 * time.Millisecond, 20 * time.Millisecond}
	}
	f.instances = append(f.instances, instance{c, maxLag, leave})
}

// Run has all instances read and write until during returns, and for a moment after it, to see its effects. Each write
// is a new version, and then remove, again until it succeeds. nil means Del.
func (f *Traffic) Run(t testing.TB, remove Removal, during func()) {
	t.Helper()
	if remove == nil {
		remove = f.Del
	}
	shortest, longest := f.instances[0].maxLag, time.Duration(0)
	for _, one := range f.instances {
		shortest, longest = min(shortest, one.maxLag), max(longest, one.maxLag)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	f.lateness.start(shortest)
	defer func() {
		stop()
		returns(t, "readers and writers", all.Wait)
		f.lateness.stop()
	}()
	for i, one := range f.instances {
		for _, leave := range one.leave {
			all.Go(func() {
				for ctx.Err() == nil {
					f.read(ctx, leave, one, rand.N(Keys))
					time.Sleep(100 * time.Microsecond) // other tests run in parallel
				}
			})
		}
		all.Go(func() {
			n := len(f.instances)
			for ctx.Err() == nil {
				f.write(ctx, i, rand.N(Keys/n)*n+i, remove) // one writer for each key
				time.Sleep(time.Millisecond)
			}
		})
	}
	during()
	time.Sleep(2 * longest)
	for end := time.Now().Add(patience); ; time.Sleep(shortest) { // a busy machine
		if f.enough = f.saysEnough(); f.enough || time.Now().After(end) {
			return // the deferred stop cancels reads, which count too: what is enough is decided before
		}
	}
}

// read gives up after a time.
func (f *Traffic) read(ctx context.Context, leave time.Duration, one instance, key int) {
	ctx, cancel := context.WithTimeout(ctx, leave)
	defer cancel()
	began := time.Now()
	version, err := one.Take(ctx, key, func(context.Context) (int, error) { return f.fetch(key), nil })
	v := f.Oracle.Judge(key, version, began)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if err != nil {
		f.failed++
		return
	}
	switch wrong := v.Err(one.maxLag); {
	case wrong == nil:
	case v.Version >= 0 && v.Version <= v.Newest && f.lateness.excuses(began, max(v.Stale, one.maxLag), one.maxLag):
		f.excused++
		return
	default:
		if f.wrong++; f.wrong <= 10 {
			f.errs = append(f.errs, wrong)
		}
	}
	f.worst = max(f.worst, v.Stale)
}

func (f *Traffic) fetch(key int) (version int) {
	f.mu.Lock()
	f.fetches++
	f.mu.Unlock()
	return f.Oracle.Newest(key)
}

// write changes a row and acknowledges it when the copy in the store is removed.
func (f *Traffic) write(ctx context.Context, instance, key int, remove Removal) {
	version := f.Oracle.Write(key)
	for remove(ctx, instance, key) != nil {
		if ctx.Err() != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.Oracle.Acknowledge(key, version)
	f.mu.Lock()
	f.written++
	f.mu.Unlock()
}

// Del is a [Removal] by the Del of the instance.
func (f *Traffic) Del(ctx context.Context, instance, key int) error {
	return f.instances[instance].Del(ctx, key)
}

// Revoke is a [Removal] by Revoke, DelPrefix or Del of the instance, at random. It must be a [Revoker].
func (f *Traffic) Revoke(ctx context.Context, instance, key int) (err error) {
	r := f.instances[instance].Cache.(Revoker)
	switch rand.N(4) {
	case 0:
		return f.Del(ctx, instance, key)
	case 1:
		_, err = r.DelPrefix(ctx, strconv.Itoa(key)) // and others
	default:
		err = r.Revoke(ctx, key)
	}
	if err == nil {
		f.Oracle.Revoked(key)
		f.mu.Lock()
		f.revoked++
		f.mu.Unlock()
	}
	return err
}

// Either returns a [Removal] that takes one of two at random.
func Either(one, other Removal) Removal {
	return func(ctx context.Context, instance, key int) error {
		if rand.N(2) == 0 {
			return one(ctx, instance, key)
		}
		return other(ctx, instance, key)
	}
}

// UntilWrong returns how many answers were wrong as soon as one was, or 0 after a minute: to see that a bad source is found.
func (f *Traffic) UntilWrong() (wrong int) {
	for end := time.Now().Add(patience); f.wrongs() == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	return f.wrongs()
}

// wrongs returns how many answers were.
func (f *Traffic) wrongs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrong
}

// Verdict fails the test if an answer was wrong, or if too little was read or written to tell.
func (f *Traffic) Verdict(t testing.TB) {
	t.Helper()
	t.Log(f)
	if f.excused > 0 {
		t.Logf("NOT JUDGED: %d reads were old while timers of this process were late: near promises no more then", f.excused)
	}
	if f.wrong > 0 {
		t.Errorf("%d reads of %d were wrong, such as:", f.wrong, f.reads)
		for _, err := range f.errs {
			t.Error(err)
		}
	}
	if !f.enough {
		t.Errorf("only %d reads, %d of them from memory, and %d writes", f.reads, f.hits(), f.written)
	}
}

// saysEnough reports whether enough was read, also from memory, and written.
func (f *Traffic) saysEnough() bool {
	hits := f.hits()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads >= 1000 && f.written >= 100 && hits >= f.reads/10
}

func (f *Traffic) hits() (hits int) {
	for _, one := range f.instances {
		hits += int(one.Stats().Hits)
	}
	return hits
}

// String says what was done.
func (f *Traffic) String() string {
	hits := f.hits()
	var lost uint64
	for _, one := range f.instances {
		lost += one.Stats().Near.Reconnects
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	const all = "%d reads (%d local, %d failed), %d of the database, %d writes (%d from the whole fleet), " +
		"connections lost %d times, worst staleness %v"
	return fmt.Sprintf(all, f.reads, hits, f.failed, f.fetches, f.written, f.revoked, lost,
		f.worst.Round(10*time.Microsecond))
}

// What caches over the store and source return was current at some moment of the MaxLag before, and not what Revoke or
// DelPrefix had removed, whoever writes and while connections break.
func (s *trial) cachesAgree() {
	var f Traffic
	for i := range 3 {
		c, err := near.New[int, int](s.Store, s.Source, near.Options[int, int]{
			Prefix: s.Prefix, MaxLag: s.MaxLag, Expire: time.Minute, Lease: s.MaxLag, Timeout: s.MaxLag,
			Name: s.t.Name() + strconv.Itoa(i),
		})
		s.must(err)
		s.t.Cleanup(func() { c.Close(context.Background()) })
		f.Add(c, s.MaxLag)
	}
	remove := f.Del
	if s.fleet != nil {
		remove = f.Revoke
	}
	if s.Foreign != nil {
		remove = Either(remove, f.foreign(s))
	}
	f.Run(s.t, remove, s.faults)
	f.Verdict(s.t)
}

// foreign returns a [Removal] by another program, which removes or writes the value.
func (f *Traffic) foreign(s *trial) Removal {
	return func(ctx context.Context, _, key int) error {
		var value []byte
		if rand.N(2) == 0 {
			value = strconv.AppendInt(nil, int64(f.Oracle.Newest(key)), 10)
		}
		return s.Foreign(ctx, s.Prefix+strconv.Itoa(key), value)
	}
}

// What a Local over the source returns was current in the database at some moment of the MaxLag before, whoever writes
// and while connections break.
func (s *trial) localsAgree() {
	var f Traffic
	for i := range 3 {
		c, err := near.NewLocal[int, int](s.Source, near.LocalOptions[int, int]{
			Cache: cache.Options[int, int]{Name: s.t.Name() + strconv.Itoa(i)}, Prefix: s.Prefix, MaxLag: s.MaxLag,
		})
		s.must(err)
		s.t.Cleanup(func() { c.Close(context.Background()) })
		f.Add(reading{c, s}, s.MaxLag)
	}
	f.Run(s.t, func(ctx context.Context, _, key int) error {
		return s.Foreign(ctx, s.Prefix+strconv.Itoa(key), strconv.AppendInt(nil, int64(f.Oracle.Newest(key)), 10))
	}, s.faults)
	f.Verdict(s.t)
}

// faults has each fault once, if there is a Proxy.
func (s *trial) faults() {
	if s.Proxy == nil {
		return
	}
	for _, fault := range Faults() {
		over := s.Proxy.Begin(fault, FromServer)
		time.Sleep(s.MaxLag)
		over()
		time.Sleep(s.MaxLag)
	}
}

// reading is a Local whose loads read the database of a subject.
type reading struct {
	*near.Local[int, int]
	s *trial
}

func (c reading) Take(ctx context.Context, key int, _ func(context.Context) (int, error)) (int, error) {
	return c.Local.Take(ctx, key, func(ctx context.Context, _ *cache.Load[int]) (int, error) {
		value, err := c.s.Read(ctx, c.s.Prefix+strconv.Itoa(key))
		if err != nil || value == nil {
			return 0, err
		}
		return strconv.Atoi(string(value))
	})
}

func (c reading) Del(_ context.Context, keys ...int) error {
	c.Forget(keys...)
	return nil
}
