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

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Watch tells w of changes until ctx ends. It connects again whenever a connection breaks,
// falls silent for the MaxLag of w, or leads to a server that may have been replaced.
func (r *Redis) Watch(ctx context.Context, w near.Watcher) {
	in := newInbox(inboxRoom)
	ctx, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { in.tell(ctx, w) })
	defer telling.Wait()
	defer stop()

	session, maxLag := r.track, near.MaxLag(w)
	if r.options.Channel != "" {
		session = r.subscribe
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		in.lost(session(ctx, in, maxLag))
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		// A random part, so that not all instances connect at once.
		sleep(ctx, pause/2+rand.N(pause/2))
	}
}

// track follows one topology until it changes: it connects to every master, says ChangedAll,
// and vouches for the moment of the slowest master.
func (r *Redis) track(ctx context.Context, in *inbox, maxLag time.Duration) error {
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
	servers := make([]string, len(members))
	for i, m := range members {
		servers[i] = m.server()
	}
	ctx, leave, err := r.enter(ctx, t, servers, maxLag)
	defer leave()
	if err != nil {
		return err
	}
	// Values kept from now on were read by a client of this topology.
	now := time.Now()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in.restored(now)
	if t.sentinel != nil {
		members = append(members, t.sentinel)
	}
	return follow(ctx, members, in, maxLag)
}

// A session knows the servers that it watches, and ends when values are read somewhere else.
type session struct {
	servers []string // guarded by Redis.mu; nil until the first is dialed, with Options.Channel
	end     context.CancelCauseFunc
}

// enter begins a session: it connects the client for values. leave must follow, and ends the
// session's context. So does a connection to a server that is not among servers; if they are
// nil, to another one than the first. Sessions enter one after another: so while one lasts, no
// client is in use that was connected before it could hear of that.
func (r *Redis) enter(ctx context.Context, t topology, servers []string, maxLag time.Duration) (_ context.Context, leave func(), err error) {
	ctx, end := context.WithCancelCause(ctx)
	s := &session{servers, end}
	r.entering.Lock()
	r.mu.Lock()
	r.sessions = append(r.sessions, s)
	r.mu.Unlock()
	err = r.connect(t)
	r.entering.Unlock()
	var looking sync.WaitGroup
	looking.Go(func() { r.look(ctx, t, min(lookEvery, 10*min(maxLag, lookEvery))) })
	return ctx, func() {
		end(nil)
		looking.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sessions = slices.DeleteFunc(r.sessions, func(other *session) bool { return other == s })
	}, err
}

// lookEvery is the time between two looks at where addresses lead, or ten MaxLag if that is less.
const lookEvery = 10 * time.Second

// look dials the masters again and again. An address may lead to another server, for those who
// dial it, though no connection breaks here.
func (r *Redis) look(ctx context.Context, t topology, every time.Duration) {
	o, dial := r.options.Client, r.dialIdentified(t.cluster)
	for sleep(ctx, every); ctx.Err() == nil; sleep(ctx, every) {
		for _, addr := range t.masters {
			if conn, err := dial(ctx, addr, &o.Dialer, o.TLSConfig); err == nil {
				conn.Close()
			}
		}
	}
}

// dialed ends the sessions that do not watch a server to which addr leads. An err says why
// nobody should.
func (r *Redis) dialed(addr, server string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.servers == nil {
			s.servers = []string{server}
		}
		switch {
		case err != nil:
			s.end(err)
		case !slices.Contains(s.servers, server):
			s.end(fmt.Errorf("%w: %s leads to a server that is not watched", errTopology, addr))
		}
	}
}

// joinAll connects to the masters. After an error some of the members are nil.
func (r *Redis) joinAll(ctx context.Context, t topology, in *inbox) ([]*member, error) {
	members := make([]*member, len(t.masters))
	joining, ctx := errgroup.WithContext(ctx)
	for i, addr := range t.masters {
		joining.Go(func() (err error) {
			members[i], err = r.join(ctx, t, addr, in)
			return err
		})
	}
	if err := joining.Wait(); err != nil {
		return members, err
	}
	r.note(members)
	return members, nil
}

// follow asks the members until one of them fails or disagrees.
func follow(ctx context.Context, members []*member, in *inbox, maxLag time.Duration) error {
	v := vouched{asOf: make([]time.Time, len(members)), in: in}
	following, ctx := errgroup.WithContext(ctx)
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
	in   *inbox
}

// set records that member i vouches for all changes before asOf, and passes on the moment for
// which all members vouch.
func (v *vouched) set(i int, asOf time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asOf[i] = asOf
	if oldest := slices.MinFunc(v.asOf, time.Time.Compare); !oldest.IsZero() {
		v.in.current(oldest)
	}
}

// push puts what Redis sent into the inbox.
func push(in *inbox, messages []rueidis.RedisMessage) {
	if messages == nil { // FLUSHALL and the like
		in.changedAll()
		return
	}
	keys := make([]string, 0, len(messages))
	for i := range messages {
		key, err := messages[i].ToString()
		if err != nil {
			in.changedAll() // unexpected: not a key
			return
		}
		keys = append(keys, key)
	}
	in.changed(keys...)
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
