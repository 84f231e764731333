package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// track follows one topology until it changes: it connects to the masters, says ChangedAll, and
// vouches for the moment of the slowest master. In a cluster it goes on without some masters.
func (r *Redis) track(ctx context.Context, in *inbox, maxLag time.Duration) error {
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	s := &session{topology: t, deaf: map[int]bool{}}
	members, errs := r.joinAll(ctx, t, in)
	defer func() { closeAll(members) }()
	for i, err := range errs {
		if err != nil && !r.spares(s, i, err) {
			return err
		}
	}
	r.note(members)
	s.servers = []string{}
	for _, m := range members {
		if m != nil {
			s.servers = append(s.servers, m.server())
			r.noteSnapshot(ctx, m)
		}
	}
	ctx, leave, err := r.enter(ctx, s, maxLag)
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
	return r.follow(ctx, s, members, in, maxLag)
}

// noteSnapshot logs that a server has started again with a snapshot.
func (r *Redis) noteSnapshot(ctx context.Context, m *member) {
	replies, err := m.do(ctx, r.options.Client.ConnWriteTimeout, []string{"INFO", "server"}, []string{"INFO", "persistence"})
	if err != nil {
		return // the next question finds out
	}
	server, _ := replies[0].ToString()
	persistence, _ := replies[1].ToString()
	run, loaded := infoField(server, "run_id"), infoField(persistence, "rdb_last_load_keys_loaded")
	r.mu.Lock()
	before := r.runs[m.addr]
	r.runs[m.addr] = run
	r.mu.Unlock()
	if before != "" && before != run && strings.Trim(loaded, "0") != "" && infoField(persistence, "aof_enabled") == "0" {
		slog.Warn("near/redis: a server has started again from a snapshot: keys that were removed after it was made have their old values, until their TTL ends or they change: use appendonly, or save \"\"", "server", m.addr, "keys", loaded)
	}
}

// A session knows the servers that it watches, and ends when values are read somewhere else.
type session struct {
	topology
	servers []string     // guarded by Redis.mu; nil until the first is dialed, with Options.Channel
	deaf    map[int]bool // the masters of a cluster that are not watched at present; guarded by Redis.mu
	end     context.CancelCauseFunc
}

// spares reports whether the session goes on although master i fails, and remembers that. Most
// masters of a cluster must answer: a failover needs the votes of most, so one of those that
// answer knows of it.
func (r *Redis) spares(s *session, i int, err error) bool {
	if s.cluster == nil || errors.Is(err, errTopology) || !passes(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.deaf[i] = true
	return s.cluster.most(func(i int) bool { return !s.deaf[i] })
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
// nobody should. It returns an error if a session knows that it does not watch addr: that waits
// until the server can be watched, and nobody is to read from it before.
func (r *Redis) dialed(addr, server string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.servers == nil {
			s.servers = []string{server}
		}
		why := err
		if why == nil && !slices.Contains(s.servers, server) {
			why = fmt.Errorf("%w: %s leads to a server that is not watched", errTopology, addr)
		}
		switch {
		case why == nil:
		case s.deaf[slices.Index(s.masters, addr)]:
			return why
		default:
			s.end(why)
		}
	}
	return nil
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

// follow asks the members until one of them disagrees, or too many fail.
func (r *Redis) follow(ctx context.Context, s *session, members []*member, in *inbox, maxLag time.Duration) error {
	v := vouched{asOf: make([]time.Time, len(members)), in: in}
	following, ctx := errgroup.WithContext(ctx)
	for i, m := range members {
		if m == nil {
			v.asOf[i] = unasked
		}
		following.Go(func() error { return r.attend(ctx, s, i, &members[i], &v, maxLag) })
	}
	if t := s.sentinel; t != nil {
		i := len(members)
		v.asOf = append(v.asOf, time.Time{})
		following.Go(func() error {
			return beat(ctx, maxLag, t.broken, t.ask, func(asOf time.Time) { v.set(i, asOf) })
		})
	}
	return following.Wait()
}

// attend asks master i until it disagrees, or fails and must not. While a master fails that may,
// its keys are not covered, and it is joined again.
func (r *Redis) attend(ctx context.Context, s *session, i int, at **member, v *vouched, maxLag time.Duration) error {
	for {
		if *at == nil {
			m, err := r.rejoin(ctx, s, s.masters[i], v.in)
			if err != nil {
				return err
			}
			*at = m
			v.set(i, time.Now())
			r.mu.Lock()
			delete(s.deaf, i)
			r.mu.Unlock()
			slog.Info("near/redis: the master of a cluster answers again", "server", m.addr)
		}
		m := *at
		ask := func(ctx context.Context, timeout time.Duration) error {
			if err := m.ask(ctx, timeout); err != nil || !r.deafened(s) {
				return err
			}
			return m.agrees(ctx, timeout, s.cluster) // a slot may have gone to a master that is not watched
		}
		err := fmt.Errorf("near/redis: %s: %w", m.addr, beat(ctx, maxLag, m.broken, ask, func(asOf time.Time) { v.set(i, asOf) }))
		if ctx.Err() != nil || !r.spares(s, i, err) {
			return err
		}
		slog.Warn("near/redis: a master of a cluster does not answer: its keys stay in memory for MaxLag", "err", err)
		v.in.changedIf(func(key string) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.owner(s.cluster, key) == i
		})
		v.set(i, unasked)
		m.close()
		*at = nil
	}
}

// rejoin joins a master that has failed, as soon as it answers.
func (r *Redis) rejoin(ctx context.Context, s *session, addr string, in *inbox) (*member, error) {
	for {
		m, err := r.join(ctx, s.topology, addr, in)
		switch {
		case err == nil && slices.Contains(s.servers, m.server()):
			return m, nil
		case err == nil:
			m.close()
			return nil, fmt.Errorf("%w: %s has other data", errTopology, addr)
		case ctx.Err() != nil:
			return nil, err
		}
		sleep(ctx, lastPause) // those that answer know whether the topology has changed
	}
}

func (r *Redis) deafened(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(s.deaf) > 0
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

// unasked is the moment of a member that does not count.
var unasked = time.Unix(1<<40, 0)

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
