package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A source watches the servers that own the keys, for Redis.Watch. A watch is one session after
// another, each of which connects the client for values anew.
type source struct {
	options  *Options
	clients  *clients
	sessions sessions

	untracked atomic.Bool // some master does not track

	mu   sync.Mutex
	runs map[string]string // the run_id of each address
}

// connect connects the first client for values, if the masters can be watched: else each session
// would fail.
func (s *source) connect(ctx context.Context) error {
	t, err := locate(ctx, s.options, nil)
	if err != nil {
		return err
	}
	defer t.close()
	if err := s.canWatch(ctx, t); err != nil {
		return err
	}
	return s.clients.connect(t, s.sessions.dialed)
}

func (s *source) canWatch(ctx context.Context, t topology) error {
	if s.options.Channel != "" {
		if t.cluster != nil {
			return errChannelInCluster
		}
		return nil
	}
	members, errs := t.join(ctx, s.options, newInbox(0))
	defer closeAll(members)
	s.noteUntracked(members)
	return errors.Join(errs...)
}

// watch is Redis.Watch.
func (s *source) watch(ctx context.Context, w near.Watcher) {
	in := newInbox(inboxRoom)
	ctx, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { in.tell(ctx, w) })
	defer telling.Wait()
	defer stop()

	maxLag := near.MaxLag(w)
	session := func() error { return s.track(ctx, w, in, maxLag) }
	if s.options.Channel != "" {
		session = func() error { return s.subscribe(ctx, in, maxLag) }
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		err := session()
		s.noteEnd(err)
		in.lost(err)
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		// A random part, so that not all instances connect at once.
		sleep(ctx, pause/2+rand.N(pause/2))
	}
}

// track is a session with connections on which servers tell of changes: it connects to the
// masters, says ChangedAll, and confirms the moment of the slowest master, until the topology
// changes. If w can tell keys apart, it goes on without some masters of a cluster.
func (s *source) track(ctx context.Context, w near.Watcher, in *inbox, maxLag time.Duration) error {
	o, began := s.options, time.Now() // later, a master may have been replaced that has answered
	t, err := locate(ctx, o, s.clients.masters())
	if err != nil {
		return err
	}
	defer t.close()
	members, errs := t.join(ctx, o, in)
	defer closeAll(members)
	of := &session{topology: t, servers: []string{}}
	_, apart := w.(near.KeyWatcher)
	for i, m := range members {
		switch {
		case m != nil:
			of.servers = append(of.servers, m.server())
			s.noteSnapshot(ctx, m)
		case errors.Is(errs[i], errTopology), !apart:
			return errs[i]
		default:
			of.deaf = append(of.deaf, i)
		}
	}
	members = slices.DeleteFunc(members, func(m *member) bool { return m == nil })
	if err := of.allows(ctx, members, o.Client.ConnWriteTimeout); err != nil {
		return errors.Join(append(errs, err)...)
	}
	s.noteUntracked(members)
	ctx, leave, err := s.sessions.enter(ctx, of, maxLag)
	defer leave()
	if err != nil {
		return err
	}
	in.except(nil)
	if len(of.deaf) > 0 {
		in.except(of.untold(members[0].client))
		o.log().Warn("near/redis: a master of the cluster is away: its keys stay in memory for MaxLag", "err", errors.Join(errs...))
	}
	// Values kept from now on were read by a client of this topology.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in.restored(began)
	return of.follow(ctx, o, members, in, maxLag)
}

// noteEnd keeps why a session has ended, and logs what does not mend itself, such as a wrong
// password.
func (s *source) noteEnd(err error) {
	before := s.clients.ended(err)
	if err != nil && !passes(err) && (before == nil || before.Error() != err.Error()) {
		s.options.log().Warn("near/redis: changes cannot be watched", "err", err)
	}
}

// noteUntracked remembers whether a member does not track, and logs the first one.
func (s *source) noteUntracked(members []*member) {
	untracked := slices.ContainsFunc(members, func(m *member) bool { return m != nil && m.ear != nil })
	if s.untracked.Swap(untracked) != untracked && untracked {
		s.options.log().Warn("near/redis: no CLIENT TRACKING, so changes come by keyspace notifications: FLUSHALL and SWAPDB are told with the next question, what "+setting+" leaves out is not, and a server that takes no writes vouches for nothing", "servers", s.options.Client.InitAddress)
	}
}

// noteSnapshot logs that a server has started again with a snapshot.
func (s *source) noteSnapshot(ctx context.Context, m *member) {
	info, err := m.text(ctx, s.options.Client.ConnWriteTimeout, "INFO")
	if err != nil {
		return // the next question finds out
	}
	run, loaded := infoField(info, "run_id"), infoField(info, "rdb_last_load_keys_loaded")
	s.mu.Lock()
	before := s.runs[m.addr]
	s.runs[m.addr] = run
	s.mu.Unlock()
	if before != "" && before != run && strings.Trim(loaded, "0") != "" && infoField(info, "aof_enabled") == "0" {
		s.options.log().Warn("near/redis: a server has started again from a snapshot: keys that were removed after it was made have their old values, until their TTL ends or they change: use appendonly, or save \"\"", "server", m.addr, "keys", loaded)
	}
}
