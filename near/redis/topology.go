package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A topology has the servers that own the keys, as found at the beginning of a session.
type topology struct {
	masters  []string // addresses
	cluster  *cluster // whose masters they are, or nil
	sentinel *member  // the Sentinel that named the master, or nil
}

func (t topology) close() {
	if t.sentinel != nil {
		t.sentinel.close()
	}
}

// A member is a node that is asked again and again whether the topology is unchanged. The
// question is that of beat, so the answer is as recent as what the connection vouches for.
type member struct {
	*node
	question [][]string
	read     func([]rueidis.RedisResult) (string, error) // what server returns comes first
	answer   string                                      // the first one
	ear      *ear                                        // nil where the node tracks, or is a Sentinel
}

func (m *member) close() {
	if m.ear != nil {
		m.ear.forget(m)
		m.ear.conn.Close()
	}
	m.node.close()
}

// server returns what the server calls its data.
func (m *member) server() string {
	id, _, _ := strings.Cut(m.answer, " ")
	return id
}

// ask sends the question. The first answer is kept, and any other is errTopology.
func (m *member) ask(ctx context.Context, timeout time.Duration) error {
	replies, err := m.do(ctx, timeout, slices.Concat(m.question, m.ear.touch(timeout))...)
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
	if m.ear != nil {
		return m.ear.confirm(ctx, m, timeout, replies[len(m.question):])
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
	for i, addr := range append(slices.Clip(r.options.Client.InitAddress), r.lastMasters()...) {
		t, err := ask(ctx, addr)
		if err == nil && i >= len(r.options.Client.InitAddress) && t.cluster == nil {
			err = errors.New("it is no node of a cluster any more")
		}
		if err == nil {
			return t, nil
		}
		failed = errors.Join(failed, fmt.Errorf("near/redis: %s: %w", addr, err))
	}
	return topology{}, failed
}

// lastMasters returns the masters of the cluster, as far as they are known.
func (r *Redis) lastMasters() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data == nil || r.data.cluster == nil {
		return nil
	}
	return r.data.cluster.masters
}

// locateBySeed asks a server whether it is one of a cluster, and for the others.
func (r *Redis) locateBySeed(ctx context.Context, addr string) (topology, error) {
	seed, err := dialNode(ctx, r.options.Client, addr, nil, nil)
	if err != nil {
		return topology{}, err
	}
	defer seed.close()
	timeout := r.options.Client.ConnWriteTimeout
	info, err := seed.text(ctx, timeout, "INFO", "cluster")
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); refused && !passes(err) { // then join says what is missing, if it is needed
		return topology{masters: []string{addr}}, nil
	}
	if err != nil {
		return topology{}, err
	}
	if infoField(info, "cluster_enabled") != "1" {
		return topology{masters: []string{addr}}, nil
	}
	c, err := seed.cluster(ctx, timeout)
	if err == nil {
		info, err = seed.text(ctx, timeout, "CLUSTER", "INFO")
	}
	if err == nil {
		err = clusterServes(info)
	}
	if err != nil {
		return topology{}, watchError(r.options.Client.Username, err)
	}
	return topology{masters: c.masters, cluster: c}, nil
}

// locateBySentinel keeps the connection to the Sentinel: a master that was replaced while it
// could not be reached does not know that, but the Sentinel does, unless it cannot reach most
// of the others either (CKQUORUM).
func (r *Redis) locateBySentinel(ctx context.Context, addr string) (topology, error) {
	o := r.options.Client
	s := o.Sentinel
	o.Username, o.Password, o.TLSConfig, o.AuthCredentialsFn = s.Username, s.Password, s.TLSConfig, nil
	o.ClientName = s.ClientName
	if s.Dialer.Timeout != 0 {
		o.Dialer = s.Dialer
	}
	n, err := dialNode(ctx, o, addr, nil, nil)
	if err != nil {
		return topology{}, err
	}
	sentinel := &member{
		node:     n,
		question: [][]string{{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.MasterSet}, {"SENTINEL", "CKQUORUM", s.MasterSet}},
		read: func(replies []rueidis.RedisResult) (string, error) {
			at, err := replies[0].AsStrSlice()
			if err != nil || len(at) != 2 {
				return "", fmt.Errorf("the Sentinel knows no master named %q (%v)", s.MasterSet, err)
			}
			return net.JoinHostPort(at[0], at[1]), nil
		},
	}
	if err := sentinel.ask(ctx, r.options.Client.ConnWriteTimeout); err != nil {
		n.close()
		return topology{}, err
	}
	return topology{masters: []string{sentinel.answer}, sentinel: sentinel}, nil
}

// join connects to a master, with tracking or else an ear, and checks that it sees the topology
// as t does.
func (r *Redis) join(ctx context.Context, t topology, addr string, in *inbox) (*member, error) {
	n, err := dialNode(ctx, r.options.Client, addr, r.options.Prefixes, func(keys []rueidis.RedisMessage) { push(in, keys) })
	refused := err
	if tracksNot(err) {
		n, err = dialNode(ctx, r.options.Client, addr, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("near/redis: %s: %w", addr, watchError(r.options.Client.Username, err))
	}
	m := &member{node: n, question: [][]string{{"INFO", "replication"}}, read: readRole}
	if t.cluster != nil {
		m.question = append(m.question, []string{"CLUSTER", "INFO"})
		m.read = roleInCluster
	}
	if err = m.ask(ctx, r.options.Client.ConnWriteTimeout); err == nil && t.cluster != nil {
		// After the first answer: from now on a change of the topology changes the answer.
		err = m.agrees(ctx, r.options.Client.ConnWriteTimeout, t.cluster, false)
	}
	if err = watchError(r.options.Client.Username, err); err == nil && refused != nil {
		if err = r.lend(ctx, m, t, in); err != nil {
			err = r.options.deafError(refused, err)
		}
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("near/redis: %s: %w", addr, err)
	}
	return m, nil
}

// readRole reads an INFO replication, which a server refuses while a script keeps it busy. It
// tells of changes only after the script, but acknowledges them meanwhile.
func readRole(replies []rueidis.RedisResult) (string, error) {
	info, err := replies[0].ToString()
	if err != nil {
		return "", err
	}
	return role(info)
}

// role returns what a master calls its data. No other server has that name, and it gets another
// when it restarts, was a replica, or gets its first replica. An odd server may have none.
func role(info string) (string, error) {
	if r := infoField(info, "role"); r != "" && r != "master" {
		return "", fmt.Errorf("%w: the server is a replica (%s), which tells of changes when it learns of them, later than its master; give the address of the master", errTopology, r)
	}
	return infoField(info, "master_replid"), nil
}

// infoField returns a field of an INFO, which may be a verbatim string.
func infoField(info, name string) string {
	_, after, _ := strings.Cut("\n"+strings.TrimPrefix(info, "txt:"), "\n"+name+":")
	value, _, _ := strings.Cut(after, "\r")
	return value
}
