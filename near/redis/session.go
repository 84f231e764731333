package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"
)

// sessions has the sessions under way, one for each Watch. They end when values are read from a
// server that they do not watch.
type sessions struct {
	options *Options
	clients *clients

	entering sync.Mutex // held by enter while it connects

	mu  sync.Mutex
	all []*session
}

// enter begins a session: it connects the client for values. leave must follow, and ends the
// session's context. The context also ends when a connection leads to a server that is not among
// the session's servers; if these are nil, to another one than the first. Sessions enter one after
// another. So while a session lasts, it has heard of all connections of the client in use.
func (ss *sessions) enter(ctx context.Context, s *session, maxLag time.Duration) (_ context.Context, leave func(), err error) {
	ctx, s.end = context.WithCancelCause(ctx)
	ss.entering.Lock()
	ss.mu.Lock()
	ss.all = append(ss.all, s)
	ss.mu.Unlock()
	err = ss.clients.connect(s.topology, ss.dialed)
	ss.entering.Unlock()
	var looking sync.WaitGroup
	looking.Go(func() { ss.look(ctx, s.topology, min(lookEvery, 10*min(maxLag, lookEvery))) })
	return ctx, func() {
		s.end(nil)
		looking.Wait()
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.all = slices.DeleteFunc(ss.all, func(other *session) bool { return other == s })
	}, err
}

// lookEvery is the time between two looks at where addresses lead, or ten MaxLag if that is less.
const lookEvery = 10 * time.Second

// look dials the masters again and again. An address may lead to another server, for those who
// dial it, though no connection breaks here.
func (ss *sessions) look(ctx context.Context, t topology, every time.Duration) {
	o, dial := ss.options.Client, dialIdentified(ss.options, t.cluster != nil, ss.dialed)
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
func (ss *sessions) dialed(addr, server string, err error) {
	var astray []*session
	ss.mu.Lock()
	for _, s := range ss.all {
		if s.servers == nil {
			s.servers = []string{server}
		}
		deaf := s.cluster != nil && slices.Contains(s.deaf, s.cluster.at(addr))
		if !deaf && (err != nil || !slices.Contains(s.servers, server)) {
			astray = append(astray, s)
		}
	}
	ss.mu.Unlock()
	if err == nil {
		err = fmt.Errorf("%w: %s leads to a server that is not watched", errTopology, addr)
	}
	for _, s := range astray { // not under mu: this may ask the context that Watch was given
		s.end(err)
	}
}

// A session knows the servers that it watches, and ends when values are read somewhere else.
type session struct {
	topology
	servers []string // guarded by sessions.mu; nil until the first is dialed, with Options.Channel
	deaf    []int    // the masters of a cluster that it does not watch
	end     context.CancelCauseFunc
}

// allows returns an error if a session may not begin without some masters. Most of those with slots
// must be members: a failover needs the votes of most, so at least one member has voted, and its
// epoch shows that. And all members must see the cluster as the session does.
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

// agreed is for a session without some masters: it returns an error if a member sees other masters,
// or a slot that moves. It may move to a master that nobody watches, and no epoch shows that.
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

// follow asks the members until one of them fails or disagrees, or a master is back.
func (s *session) follow(ctx context.Context, o *Options, members []*member, in *inbox, maxLag time.Duration) error {
	following, ctx := errgroup.WithContext(ctx)
	for _, i := range s.deaf {
		following.Go(func() error { return awaitMaster(ctx, o, s.cluster, s.masters[i]) })
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
func awaitMaster(ctx context.Context, o *Options, c *cluster, addr string) error {
	for {
		sleep(ctx, lastPause)
		m, err := join(ctx, o, c, addr, newInbox(0))
		if err == nil {
			m.close()
			return fmt.Errorf("%w: %s is back", errTopology, addr)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
