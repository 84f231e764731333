package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A topology has the servers that own the keys, as found at the beginning of a session.
type topology struct {
	masters  []string // addresses, sorted
	cluster  bool
	sentinel *member // the Sentinel that named the master, or nil
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
	seed, err := dialNode(ctx, r.options.Client, addr, nil, nil)
	if err != nil {
		return topology{}, err
	}
	defer seed.close()
	replies, err := seed.do(ctx, r.options.Client.ConnWriteTimeout, []string{"INFO", "cluster"})
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); refused { // then join says what is missing, if it is needed
		return topology{masters: []string{addr}}, nil
	}
	if err != nil {
		return topology{}, err
	}
	info, err := replies[0].ToString()
	if err != nil {
		return topology{}, err
	}
	if infoField(info, "cluster_enabled") != "1" {
		return topology{masters: []string{addr}}, nil
	}
	masters, _, err := seed.clusterMasters(ctx, r.options.Client.ConnWriteTimeout)
	if err != nil {
		return topology{}, watchError(r.options.Client.Username, err)
	}
	return topology{masters: masters, cluster: true}, nil
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
	if t.cluster {
		m.question = append(m.question, []string{"CLUSTER", "INFO"})
		m.read = roleInCluster
	}
	var slots []int
	if err = m.ask(ctx, r.options.Client.ConnWriteTimeout); err == nil && t.cluster {
		// After the first answer: from now on a change of the topology changes the answer.
		var masters []string
		if masters, slots, err = m.clusterMasters(ctx, r.options.Client.ConnWriteTimeout); err == nil && !slices.Equal(masters, t.masters) {
			err = fmt.Errorf("%w: masters are %v, and to this one they are %v", errTopology, t.masters, masters)
		}
	}
	if err = watchError(r.options.Client.Username, err); err == nil && refused != nil {
		if err = r.lend(ctx, m, t.cluster, slots, in); err != nil {
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

// infoField returns a field of an INFO.
func infoField(info, name string) string {
	_, after, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(after, "\r")
	return value
}

// roleInCluster reads an INFO replication and a CLUSTER INFO. Its result changes with a
// failover, a node that joins or is forgotten, and a slot that gets another owner or none.
// When further slots go to the same owner it may not change; but then both owners are
// watched, and the old one tells of each key that leaves it.
func roleInCluster(replies []rueidis.RedisResult) (string, error) {
	id, err := readRole(replies)
	if err != nil {
		return "", err
	}
	info, err := replies[1].ToString()
	if err != nil {
		return "", err
	}
	state := []string{id}
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

// clusterMasters returns the addresses of all masters that a node knows, sorted, and its own
// slots. The masters include failed ones that still own slots, as an instance that reaches one
// may read from it; where CLUSTER NODES is refused, only those that own slots.
func (n *node) clusterMasters(ctx context.Context, timeout time.Duration) (masters []string, slots []int, err error) {
	replies, err := n.do(ctx, timeout, []string{"CLUSTER", "NODES"})
	if err == nil {
		list, err := replies[0].ToString()
		if err != nil {
			return nil, nil, err
		}
		return parseMasters(list, n.addr)
	}
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); !refused {
		return nil, nil, err
	}
	replies, err2 := n.do(ctx, timeout, []string{"CLUSTER", "SLOTS"})
	if err2 != nil {
		return nil, nil, err
	}
	ranges, err := replies[0].ToArray()
	if err != nil {
		return nil, nil, err
	}
	return parseMasters(nodesOf(ranges, n.addr), n.addr)
}

// nodesOf returns the answer to CLUSTER SLOTS as lines of CLUSTER NODES. Each range has its
// first slot, its last one, the master, and replicas.
func nodesOf(ranges []rueidis.RedisMessage, asked string) string {
	var list strings.Builder
	for _, r := range ranges {
		fields, _ := r.ToArray()
		if len(fields) < 3 {
			return "no range\n"
		}
		first, _ := fields[0].AsInt64()
		last, _ := fields[1].AsInt64()
		at, _ := fields[2].ToArray()
		if len(at) < 2 {
			return "no master\n"
		}
		host, _ := at[0].ToString() // nil where asked is meant
		port, _ := at[1].AsInt64()
		address, flags := fmt.Sprintf("%s:%d", host, port), "master"
		if own, err := nodeAddress(address, asked); err == nil && own == asked {
			flags = "myself,master"
		}
		fmt.Fprintf(&list, "- %s@0 %s - 0 0 0 connected %d-%d\n", address, flags, first, last)
	}
	return list.String()
}

// parseMasters reads the lines of CLUSTER NODES, which asked has written:
// id ip:port@cport,hostname flags master ping pong epoch link slot...
func parseMasters(list, asked string) (masters []string, slots []int, err error) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			return nil, nil, fmt.Errorf("the cluster has the node %q, which is too short", line)
		}
		flags := strings.Split(fields[2], ",")
		is := func(flag string) bool { return slices.Contains(flags, flag) }
		if !is("master") || is("noaddr") || is("handshake") || is("fail") && len(fields) == 8 {
			continue
		}
		addr, err := nodeAddress(fields[1], asked)
		if err != nil {
			return nil, nil, err
		}
		masters = append(masters, addr)
		for _, field := range fields[8:] {
			if is("myself") {
				slots = append(slots, slotRange(field)...)
			}
		}
	}
	slices.Sort(masters)
	return slices.Compact(masters), slots, nil
}

// slotRange returns the slots of a field of CLUSTER NODES: 5, 5-7, or [5->-id of one that moves.
func slotRange(field string) (slots []int) {
	from, to, ranges := strings.Cut(field, "-")
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if !ranges {
		last, err2 = first, nil
	}
	for slot := first; errors.Join(err, err2) == nil && slot <= last; slot++ {
		slots = append(slots, slot)
	}
	return slots
}

// nodeAddress returns the address in a field of CLUSTER NODES, ip:port@cport,hostname. A node
// that does not know its own address leaves it out: then it is asked, the address by which
// the node was reached.
func nodeAddress(field, asked string) (string, error) {
	field, extra, _ := strings.Cut(field, ",")
	address, _, _ := strings.Cut(field, "@")
	colon := strings.LastIndex(address, ":") // an IPv6 address has no brackets here
	if colon < 0 {
		return "", fmt.Errorf("CLUSTER NODES has the address %q, without a port", field)
	}
	host, port := address[:colon], address[colon+1:]
	if hostname, _, _ := strings.Cut(extra, ","); hostname != "" && !strings.Contains(hostname, "=") {
		host = hostname
	}
	if host == "" {
		askedHost, _, err := net.SplitHostPort(asked)
		if err != nil {
			return "", err
		}
		host = askedHost
	}
	return net.JoinHostPort(host, port), nil
}
