package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// A topology has the servers that own the keys, as found at the beginning of a session.
type topology struct {
	masters  []string // addresses, sorted
	cluster  bool
	sentinel *member   // the Sentinel that named the master, or nil
	asked    time.Time // when the Sentinel was asked
}

func (t topology) close() {
	if t.sentinel != nil {
		t.sentinel.close()
	}
}

// A member is a node that is asked again and again whether the topology is unchanged. It tracks, or has a
// keyspace that tells of changes. The
// question is that of beat, so the answer is as recent as what the connection vouches for. A
// server that runs a long script holds changes back: so its question is INFO, which Redis
// refuses then, unlike HELLO.
type member struct {
	*node
	question [][]string
	read     func([]rueidis.RedisResult) (string, error)
	answer   string                // the first one
	took     *atomic.Int64         // nanoseconds of the last one
	answered func(asked time.Time) // called when it has answered as before, or nil
	slots    []slots               // that it owns, in a cluster
	keyspace *keyspace             // or nil
}

func (m *member) close() {
	if m.keyspace != nil {
		m.keyspace.close()
	}
	m.node.close()
}

// ask sends the question. The first answer is kept, and any other is errTopology.
func (m *member) ask(ctx context.Context, timeout time.Duration) error {
	began := time.Now()
	replies, err := m.do(ctx, timeout, m.question...)
	if err != nil {
		return err
	}
	answer, err := m.read(replies)
	if err != nil {
		return err
	}
	if m.answer == "" {
		m.answer = answer
	}
	if answer != m.answer {
		return fmt.Errorf("%w: %q, and now %q", errTopology, m.answer, answer)
	}
	if m.keyspace != nil {
		if err := m.keyspace.ask(ctx, timeout); err != nil {
			return err
		}
	}
	m.took.Store(int64(time.Since(began)))
	if m.answered != nil {
		m.answered(began)
	}
	return nil
}

// locate asks the addresses of the options, one after another, who owns the keys.
func (r *Redis) locate(ctx context.Context) (topology, error) {
	ask := r.locateBySeed
	if r.options.Client.Sentinel.MasterSet != "" {
		ask = r.locateBySentinel
	} else if r.options.Client.ForceSingleClient {
		return topology{masters: r.options.Client.InitAddress[:1]}, nil
	}
	var failed error
	for _, addr := range r.options.Client.InitAddress {
		t, err := ask(ctx, addr)
		if err == nil {
			return t, nil
		}
		failed = errors.Join(failed, fmt.Errorf("near/redis: %s: %w", addr, err))
	}
	return topology{}, failed
}

// locateBySeed asks a server whether it is one of a cluster, and for the others.
func (r *Redis) locateBySeed(ctx context.Context, addr string) (topology, error) {
	seed, err := dialNode(ctx, r.options.Client, addr, purpose{})
	if err != nil {
		return topology{}, err
	}
	defer seed.close()
	replies, err := seed.do(ctx, r.options.Client.ConnWriteTimeout, []string{"HELLO"})
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); refused { // no HELLO: too old to be in a supported cluster
		return topology{masters: []string{addr}}, nil
	}
	if err != nil {
		return topology{}, err
	}
	hello, err := replies[0].AsMap()
	if err != nil {
		return topology{}, err
	}
	said := hello["mode"]
	if mode, _ := said.ToString(); mode != "cluster" {
		return topology{masters: []string{addr}}, nil
	}
	owned, err := seed.clusterSlots(ctx, r.options.Client.ConnWriteTimeout)
	return topology{masters: mastersOf(owned), cluster: true}, err
}

// locateBySentinel keeps the connection to the Sentinel: a master that was replaced while it
// could not be reached does not know that, but the Sentinel does. A Sentinel that is cut off
// from most others, which may replace the master without it, has no quorum: its answer is an
// error.
func (r *Redis) locateBySentinel(ctx context.Context, addr string) (topology, error) {
	o := r.options.Client
	s := o.Sentinel
	o.Username, o.Password, o.TLSConfig, o.AuthCredentialsFn = s.Username, s.Password, s.TLSConfig, nil
	o.ClientName = s.ClientName
	if s.Dialer.Timeout != 0 {
		o.Dialer = s.Dialer
	}
	n, err := dialNode(ctx, o, addr, purpose{})
	if err != nil {
		return topology{}, err
	}
	sentinel := &member{
		node:     n,
		took:     &r.seen.roundTrip,
		question: [][]string{{"SENTINEL", "CKQUORUM", s.MasterSet}, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.MasterSet}},
		read: func(replies []rueidis.RedisResult) (string, error) {
			at, err := replies[1].AsStrSlice()
			if err != nil || len(at) != 2 {
				return "", fmt.Errorf("the Sentinel knows no master named %q (%v)", s.MasterSet, err)
			}
			return net.JoinHostPort(at[0], at[1]), nil
		},
	}
	asked := time.Now()
	if err := sentinel.ask(ctx, r.options.Client.ConnWriteTimeout); err != nil {
		n.close()
		return topology{}, err
	}
	return topology{masters: []string{sentinel.answer}, sentinel: sentinel, asked: asked}, nil
}

// join connects to a master that tells of changes, unless there is a channel, and checks that it sees the
// topology as t does.
func (r *Redis) join(ctx context.Context, t topology, addr string, in *near.Inbox) (*member, error) {
	var untracked error
	m, err := r.joinBy(ctx, t, addr, r.tracking(in))
	if cannotTrack(err) {
		untracked = err
		if m, err = r.joinBy(ctx, t, addr, purpose{identify: true, selectDB: true}); err == nil {
			if m.keyspace, err = r.joinKeyspace(ctx, m, in); err != nil {
				m.close()
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("near/redis: %s: %w", addr, watchError(r.options.Client.Username, untracked, err))
	}
	return m, nil
}

// tracking returns the purpose of a node that tracks, or of one that does not if there is a channel.
func (r *Redis) tracking(in *near.Inbox) purpose {
	p := purpose{identify: true}
	if r.options.Channel == "" {
		p.prefixes, p.onPush = r.options.Prefixes, func(keys []rueidis.RedisMessage) { push(in, keys) }
	}
	return p
}

// joinBy is join by a node with a purpose.
func (r *Redis) joinBy(ctx context.Context, t topology, addr string, p purpose) (*member, error) {
	n, err := dialNode(ctx, r.options.Client, addr, p)
	if err != nil {
		return nil, err
	}
	m := &member{node: n, took: &r.seen.roundTrip, question: [][]string{{"INFO", "replication"}}, read: role}
	if t.cluster {
		m.question = append(m.question, []string{"CLUSTER", "INFO"})
		m.read = roleInCluster
	}
	if err = m.ask(ctx, r.options.Client.ConnWriteTimeout); err == nil && t.cluster {
		// After the first answer: from now on a change of the topology changes the answer.
		var owned map[string][]slots
		if owned, err = m.clusterSlots(ctx, r.options.Client.ConnWriteTimeout); err == nil && !slices.Equal(mastersOf(owned), t.masters) {
			err = fmt.Errorf("%w: masters are %v, and to this one they are %v", errTopology, t.masters, mastersOf(owned))
		}
		m.slots = owned[addr]
	}
	if err == nil {
		err = r.seen.server(ctx, n, r.options.Client.ConnWriteTimeout)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// role reads an INFO about replication.
func role(replies []rueidis.RedisResult) (string, error) {
	info, err := replies[0].ToString()
	if err != nil {
		return "", err
	}
	if infoField(info, "role") == "slave" {
		return "", fmt.Errorf("%w: the server is a replica, which tells of changes when it learns of them, later than its master; give the address of the master", errTopology)
	}
	return "master", nil
}

// roleInCluster reads an INFO about replication and a CLUSTER INFO. Its result changes with a failover, a node
// that joins or is forgotten, and a slot that gets another owner or none. When further slots
// go to the same owner it may not change; but then both owners are watched, and the old one
// tells of each key that leaves it.
func roleInCluster(replies []rueidis.RedisResult) (string, error) {
	if _, err := role(replies); err != nil {
		return "", err
	}
	info, err := replies[1].ToString()
	if err != nil {
		return "", err
	}
	var state []string
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "cluster_state":
			if value != "ok" {
				return "", fmt.Errorf("%w: the cluster is in state %q", errTopology, value)
			}
		case "cluster_slots_assigned", "cluster_slots_ok", "cluster_known_nodes", "cluster_size", "cluster_current_epoch", "cluster_my_epoch":
			state = append(state, value)
		}
	}
	return strings.Join(state, " "), nil
}
