package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"
)

// inboxRoom is how many bytes of keys are kept for a watcher that is slow or stuck.
const inboxRoom = 16 << 20

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Watch tells w of changes until ctx ends. It connects again whenever a connection breaks,
// falls silent for the MaxLag of w, or leads to a server that may have been replaced.
func (r *Redis) Watch(ctx context.Context, w near.Watcher) {
	session, maxLag := r.track, near.MaxLag(w)
	in, mine := near.NewInbox(inboxRoom), r.newWatch(w)
	defer mine.leave()
	ctx, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { in.Tell(ctx, mine.hears(w)) })
	telling.Go(func() { mine.answer(ctx) })
	defer telling.Wait()
	defer stop()

	if r.options.Client.Sentinel.MasterSet != "" {
		defer r.master.watch(maxLag)()
	}
	if r.options.Channel != "" {
		session = r.subscribe
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		in.Lost(session(ctx, in, mine, maxLag))
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		// A random part, so that not all instances connect at once.
		sleep(ctx, pause/2+rand.N(pause/2))
	}
}

// track follows one topology until it changes: it connects to every master, says ChangedAll,
// and vouches for the moment of the slowest master.
func (r *Redis) track(ctx context.Context, in *near.Inbox, mine *watch, maxLag time.Duration) error {
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	members, err := r.joinAll(ctx, t, in)
	defer closeAll(members)
	if err != nil {
		return err
	}
	r.seen.members(members)
	// Values kept from now on were read by a client of this topology.
	w := newWatched(members)
	end, err := r.begin(ctx, t, w)
	if err != nil {
		return err
	}
	defer end()
	also, err := mine.enlist(ctx)
	if err != nil {
		return err
	}
	restore(in)
	return t.follow(ctx, r.options.Client, members, w, in, maxLag, also...)
}

// restore says that all changes from now on will be heard. Everything before now is covered by
// the ChangedAll.
func restore(w near.Watcher) {
	now := time.Now()
	w.ChangedAll()
	w.Current(now)
}

// joinAll connects to the masters. After an error some of the members are nil.
func (r *Redis) joinAll(ctx context.Context, t topology, in *near.Inbox) ([]*member, error) {
	if t.cluster && r.options.Channel != "" {
		return nil, errChannelInCluster
	}
	members := make([]*member, len(t.masters))
	joining, ctx := errgroup.WithContext(ctx)
	for i, addr := range t.masters {
		joining.Go(func() (err error) {
			members[i], err = r.join(ctx, t, addr, in)
			return err
		})
	}
	return members, joining.Wait()
}

// A voucher vouches for moments until ctx ends or it no longer can.
type voucher func(ctx context.Context, vouch func(asOf time.Time)) error

// follow asks the members, and the Sentinel if there is one, until one of them fails or
// disagrees, or values may be read from others. Beside them all of also have to vouch.
func (t topology) follow(ctx context.Context, o rueidis.ClientOption, members []*member, w *watched, in near.Watcher, maxLag time.Duration, also ...voucher) error {
	if t.sentinel != nil {
		members = append(members, t.sentinel)
	}
	v := vouched{asOf: make([]time.Time, len(members)+len(also)), by: w, in: in}
	following, ctx := errgroup.WithContext(ctx)
	following.Go(func() error { return w.wait(ctx, o) })
	for i, f := range also {
		following.Go(func() error {
			return f(ctx, func(asOf time.Time) { v.set(len(members)+i, asOf) })
		})
	}
	for i, m := range members {
		following.Go(func() error {
			err := beat(ctx, maxLag, m.broken, m.ask, func(asOf time.Time) { v.set(i, asOf) })
			return fmt.Errorf("near/redis: %s: %w", m.addr, err)
		})
	}
	return following.Wait()
}

var errBroken = errors.New("the connection broke")

// beat asks a member three times in maxLag. Redis sends the changes of one round of its event
// loop after the replies of that round; so a reply vouches only for changes before the
// previous question was sent.
func beat(ctx context.Context, maxLag time.Duration, broken <-chan struct{}, ask func(context.Context, time.Duration) error, vouch func(asOf time.Time)) error {
	tick := time.NewTicker(maxLag / 3)
	defer tick.Stop()
	var previous time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-broken:
			return errBroken
		case <-tick.C:
		}
		asked := time.Now()
		if err := ask(ctx, maxLag); err != nil {
			return err
		}
		if !previous.IsZero() {
			vouch(previous)
		}
		previous = asked
	}
}

// vouched has the moment for which each member vouches.
type vouched struct {
	mu   sync.Mutex
	asOf []time.Time
	by   *watched
	in   near.Watcher
}

// set records that member i vouches for all changes before asOf, and passes on the moment for
// which all members vouch.
func (v *vouched) set(i int, asOf time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asOf[i] = asOf
	// Values that were read from other servers were read after oldest, if the session is not
	// over now.
	if oldest := slices.MinFunc(v.asOf, time.Time.Compare); !oldest.IsZero() && !v.by.isOver() {
		v.in.Current(oldest)
	}
}

// push puts what Redis sent into the inbox.
func push(in *near.Inbox, messages []rueidis.RedisMessage) {
	if messages == nil { // FLUSHALL and the like
		in.Flushed()
		return
	}
	keys := make([]string, 0, len(messages))
	for i := range messages {
		key, err := messages[i].ToString()
		if err != nil {
			in.Flushed() // unexpected: not a key
			return
		}
		keys = append(keys, key)
	}
	tell(in, keys...)
}

func closeAll(members []*member) {
	for _, m := range members {
		if m != nil {
			m.close()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
