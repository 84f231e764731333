package alerts

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// near returns a near cache with a source that vouches in time until it is set to Lost. Values
// in memory live for a minute.
func (s *service) near() (nearUsers, *source) { return s.audited(0) }

// audited is near with an auditor.
func (s *service) audited(oneIn int) (nearUsers, *source) {
	u := nearUsers{store: &store{}, zipf: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 2_000)}
	source := &source{}
	var err error
	u.Cache, err = near.New(u.store, source, near.Options[int, int]{Name: "users", Limit: 2_000, LocalExpire: time.Minute, Jitter: 0.1, Audit: oneIn})
	s.do(err)
	s.t.Cleanup(func() { s.do(u.Close(context.Background())) })
	synctest.Wait() // for Watch
	return u, source
}

// nearUsers are a near cache over a store.
type nearUsers struct {
	*near.Cache[int, int]
	store *store
	zipf  *rand.Zipf
}

// popular takes one of the users, mostly one of a few.
func (u nearUsers) popular() {
	key := int(u.zipf.Uint64())
	go u.Take(context.Background(), key, func(context.Context) (int, error) { return key, nil })
}

// A store has a value for each key. On request it fails, takes other than a millisecond, or every other value that
// is read is one of another program. Each of changes is one of all values, of which no source tells.
type store struct {
	fail, failDel, broken atomic.Bool
	takes, reads, changes atomic.Int64
}

var errAway = errors.New("connection refused")

func (s *store) do() error {
	time.Sleep(time.Duration(cmp.Or(s.takes.Load(), int64(time.Millisecond))))
	if s.fail.Load() {
		return errAway
	}
	return nil
}

func (s *store) Get(_ context.Context, keys ...string) ([]near.Item, error) {
	items := make([]near.Item, len(keys))
	for i, key := range keys {
		items[i] = near.Item{State: near.Found, Value: strconv.AppendInt(nil, int64(len(key))+s.changes.Load(), 10)}
		if s.reads.Add(1)%2 == 0 && s.broken.Load() {
			items[i].Value = []byte("?")
		}
	}
	return items, s.do()
}

func (s *store) Set(context.Context, string, near.Item) error { return s.do() }
func (s *store) Del(context.Context, ...string) error {
	if s.failDel.Load() {
		return errAway
	}
	return s.do()
}

// A source vouches ten times a second while it is not lost, on request for what was late.
type source struct {
	watcher near.Watcher
	late    atomic.Int64
	partial atomic.Bool
}

func (s *source) Partial() bool { return s.partial.Load() }

func (s *source) Watch(ctx context.Context, w near.Watcher) {
	s.watcher = w
	w.ChangedAll()
	for tick := time.NewTicker(time.Second / 10); ctx.Err() == nil; {
		w.Current(time.Now().Add(-time.Duration(s.late.Load())))
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
		}
	}
}
