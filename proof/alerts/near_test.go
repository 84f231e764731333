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
func (s *service) near() (nearUsers, near.Watcher) {
	u := nearUsers{store: &store{}, zipf: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 2_000)}
	source := &source{}
	var err error
	u.Cache, err = near.New(u.store, source, near.Options[int, int]{Name: "users", Limit: 2_000, LocalExpire: time.Minute, Jitter: 0.1})
	s.do(err)
	s.t.Cleanup(func() { s.do(u.Close(context.Background())) })
	synctest.Wait() // for Watch
	return u, source.watcher
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

// A store has a value for each key. On request it fails, or takes other than a millisecond.
type store struct {
	fail  atomic.Bool
	takes atomic.Int64

	failDel atomic.Bool
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
		items[i] = near.Item{State: near.Found, Value: strconv.AppendInt(nil, int64(len(key)), 10)}
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

// A source vouches three times a second while it is not lost.
type source struct{ watcher near.Watcher }

func (s *source) Watch(ctx context.Context, w near.Watcher) {
	s.watcher = w
	w.ChangedAll()
	for tick := time.NewTicker(time.Second / 3); ctx.Err() == nil; {
		w.Current(time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
		}
	}
}
