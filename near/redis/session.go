package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

	maxLag := near.MaxLag(w)
	session := func() error { return r.track(ctx, w, in, maxLag) }
	if r.options.Channel != "" {
		session = func() error { return r.subscribe(ctx, in, maxLag) }
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		err := session()
		r.noteEnd(err)
		in.lost(err)
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		// A random part, so that not all instances connect at once.
		sleep(ctx, pause/2+rand.N(pause/2))
	}
}

// noteEnd keeps why a session has ended, and logs what does not mend itself, such as a wrong password.
func (r *Redis) noteEnd(err error) {
	r.mu.Lock()
	before := r.why
	r.why = err
	r.mu.Unlock()
	if err != nil && !passes(err) && (before == nil || before.Error() != err.Error()) {
		r.options.log().Warn("near/redis: changes cannot be watched", "err", err)
	}
}

// track follows one topology until it changes: it connects to the masters, says ChangedAll, and
// vouches for the moment of the slowest master. If w can tell keys apart, it goes on without some
// masters of a cluster.
func (r *Redis) track(ctx context.Context, w near.Watcher, in *inbox, maxLag time.Duration) error {
	began := time.Now() // later, a master may have been replaced that has answered
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	members, errs := r.joinAll(ctx, t, in)
	defer closeAll(members)
	s := &session{topology: t, servers: []string{}}
	_, apart := w.(interface{ Except(func(key string) bool) }) // as near.Except asks
	for i, m := range members {
		switch {
		case m != nil:
			s.servers = append(s.servers, m.server())
			r.noteSnapshot(ctx, m)
		case errors.Is(errs[i], errTopology), !apart:
			return errs[i]
		default:
			s.deaf = append(s.deaf, i)
		}
	}
	members = slices.DeleteFunc(members, func(m *member) bool { return m == nil })
	if err := s.allows(ctx, members, r.options.Client.ConnWriteTimeout); err != nil {
		return errors.Join(append(errs, err)...)
	}
	r.note(members)
	ctx, leave, err := r.enter(ctx, s, maxLag)
	defer leave()
	if err != nil {
		return err
	}
	in.except(nil)
	if len(s.deaf) > 0 {
		in.except(s.untold(members[0].client))
		r.options.log().Warn("near/redis: a master of the cluster is away: its keys stay in memory for MaxLag", "err", errors.Join(errs...))
	}
	// Values kept from now on were read by a client of this topology.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in.restored(began)
	return r.follow(ctx, s, members, in, maxLag)
}

// noteSnapshot logs that a server has started again with a snapshot.
func (r *Redis) noteSnapshot(ctx context.Context, m *member) {
	info, err := m.text(ctx, r.options.Client.ConnWriteTimeout, "INFO")
	if err != nil {
		return // the next question finds out
	}
	run, loaded := infoField(info, "run_id"), infoField(info, "rdb_last_load_keys_loaded")
	r.mu.Lock()
	before := r.runs[m.addr]
	r.runs[m.addr] = run
	r.mu.Unlock()
	if before != "" && before != run && strings.Trim(loaded, "0") != "" && infoField(info, "aof_enabled") == "0" {
		r.options.log().Warn("near/redis: a server has started again from a snapshot: keys that were removed after it was made have their old values, until their TTL ends or they change: use appendonly, or save \"\"", "server", m.addr, "keys", loaded)
	}
}

// A session knows the servers that it watches, and ends when values are read somewhere else.
type session struct {
	topology
	servers []string // guarded by Redis.mu; nil until the first is dialed, with Options.Channel
	deaf    []int    // the masters of a cluster that it does not watch
	end     context.CancelCauseFunc
}

// allows returns an error if a session may not begin without some masters. Most of those with slots
// must be members: a failover needs the votes of most, so a member has voted, and its epoch tells. And
// all members must see the cluster as the session does.
func (s *session) allows(ctx context.Context, members []*member, timeout time.Duration) error {
	if len(s.deaf) == 0 {
		return nil
	}
	if s.cluster == nil || !s.cluster.most(func(i int) bool { return !slices.Contains(s.deaf, i) }) {
		return errors.New("most masters do not answer")
	}
	for _, m := range members {
		if err := s.agreed(ctx, m, timeout); err != nil {
			return err
		}
	}
	return nil
}

// agreed returns an error if the session lacks masters, and a member sees other ones, or a slot that
// moves: a slot may go to a master that nobody watches, and no epoch tells.
func (s *session) agreed(ctx context.Context, m *member, timeout time.Duration) error {
	if len(s.deaf) == 0 {
		return nil
	}
	return m.agrees(ctx, timeout, s.cluster, true)
}

// untold returns the function that reports whether a key belongs to a master that is not watched.
func (s *session) untold(client rueidis.Client) func(key string) bool {
	return func(key string) bool { return slices.Contains(s.deaf, s.cluster.master(client, key)) }
}

// enter begins a session: it connects the client for values. leave must follow, and ends the
// session's context. So does a connection to a server that is not among the session's; if they
// are nil, to another one than the first. Sessions enter one after another: so while one lasts, no
// client is in use that was connected before it could hear of that.
func (r *Redis) enter(ctx context.Context, s *session, maxLag time.Duration) (_ context.Context, leave func(), err error) {
	ctx, s.end = context.WithCancelCause(ctx)
	r.entering.Lock()
	r.mu.Lock()
	r.sessions = append(r.sessions, s)
	r.mu.Unlock()
	err = r.connect(s.topology)
	r.entering.Unlock()
	var looking sync.WaitGroup
	looking.Go(func() { r.look(ctx, s.topology, min(lookEvery, 10*min(maxLag, lookEvery))) })
	return ctx, func() {
		s.end(nil)
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
	o, dial := r.options.Client, r.dialIdentified(t.cluster != nil)
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
		case s.cluster != nil && slices.Contains(s.deaf, s.cluster.at(addr)):
		case err != nil:
			s.end(err)
		case !slices.Contains(s.servers, server):
			s.end(fmt.Errorf("%w: %s leads to a server that is not watched", errTopology, addr))
		}
	}
}

// joinAll connects to the masters. A member is nil if its error is not.
func (r *Redis) joinAll(ctx context.Context, t topology, in *inbox) ([]*member, []error) {
	members, errs := make([]*member, len(t.masters)), make([]error, len(t.masters))
	var joining sync.WaitGroup
	for i, addr := range t.masters {
		joining.Go(func() { members[i], errs[i] = r.join(ctx, t, addr, in) })
	}
	joining.Wait()
	return members, errs
}

// follow asks the members until one of them fails or disagrees, or a master is back.
func (r *Redis) follow(ctx context.Context, s *session, members []*member, in *inbox, maxLag time.Duration) error {
	following, ctx := errgroup.WithContext(ctx)
	for _, i := range s.deaf {
		following.Go(func() error { return r.awaitMaster(ctx, s.topology, s.masters[i]) })
	}
	if s.sentinel != nil {
		members = append(members, s.sentinel)
	}
	v := vouched{asOf: make([]time.Time, len(members)), in: in}
	for i, m := range members {
		ask := func(ctx context.Context, timeout time.Duration) error {
			if err := m.ask(ctx, timeout); err != nil {
				return err
			}
			return s.agreed(ctx, m, timeout)
		}
		following.Go(func() error {
			err := beat(ctx, maxLag, m.broken, ask, func(asOf time.Time) { v.set(i, asOf) })
			return fmt.Errorf("near/redis: %s: %w", m.addr, err)
		})
	}
	return following.Wait()
}

// awaitMaster returns when a master that was away can be watched.
func (r *Redis) awaitMaster(ctx context.Context, t topology, addr string) error {
	for {
		sleep(ctx, lastPause)
		m, err := r.join(ctx, t, addr, newInbox(0))
		if err == nil {
			m.close()
			return fmt.Errorf("%w: %s is back", errTopology, addr)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
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
		if !strings.HasPrefix(key, beatKeys) { // of an instance that does not track
			keys = append(keys, key)
		}
	}
	in.changed(keys...)
}

func closeAll(members []*member) {
	var closing sync.WaitGroup
	for _, m := range members {
		if m != nil {
			closing.Go(m.close)
		}
	}
	closing.Wait()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
