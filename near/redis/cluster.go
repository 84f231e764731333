package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A cluster says who owns the slots, as a node of it sees that.
type cluster struct {
	also    []string       // of each master the address without its hostname
	masters []string       // addresses, sorted
	owner   [1 << 14]int16 // of each slot, an index of masters; -1 means nobody
	moving  bool           // a slot of the node moves, or that is unknown
}

// has reports whether master i owns a slot.
func (c *cluster) has(i int) bool { return slices.Contains(c.owner[:], int16(i)) }

// most reports whether f is true for most of the masters that own slots.
func (c *cluster) most(f func(i int) bool) bool {
	voters, of := 0, 0
	for i := range c.masters {
		if c.has(i) {
			voters++
			if f(i) {
				of++
			}
		}
	}
	return 2*of > voters
}

// at returns the index of the master at an address, or -1.
func (c *cluster) at(addr string) int {
	return max(slices.Index(c.masters, addr), slices.Index(c.also, addr))
}

// master returns the index of the master that owns a key, or -1.
func (c *cluster) master(client rueidis.Client, key string) int {
	return int(c.owner[slotOf(client, key)])
}

// slotOf returns the slot of a key.
func slotOf(c rueidis.Client, key string) int {
	command := c.B().Ping().Build().SetSlot(key)
	return int(command.Slot() % (1 << 14))
}

// roleInCluster reads an INFO replication and a CLUSTER INFO. Its result changes with a
// failover, a node that joins or is forgotten, and a slot that gets another owner or none.
// When further slots go to the same owner it may not change; but if both owners are
// watched, the old one tells of each key that leaves it.
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
	for _, name := range []string{"cluster_slots_assigned", "cluster_known_nodes", "cluster_size", "cluster_current_epoch", "cluster_my_epoch"} {
		state = append(state, infoField(info, name))
	}
	return strings.Join(state, " "), clusterServes(info)
}

// clusterServes returns an error if a CLUSTER INFO says that the cluster does not serve: the node
// may be cut off from the others, and know old masters.
func clusterServes(info string) error {
	if state := infoField(info, "cluster_state"); state != "ok" {
		return fmt.Errorf("the cluster is in state %q", state)
	}
	return nil
}

// agrees returns an error unless a node knows the masters of c. If still is set, it must also see
// the slots as c does, and none may move: a key of a slot that moves may be at the other master
// already.
func (n *node) agrees(ctx context.Context, timeout time.Duration, c *cluster, still bool) error {
	seen, err := n.cluster(ctx, timeout)
	switch {
	case err != nil:
		return err
	case !slices.Equal(seen.masters, c.masters):
		return fmt.Errorf("%w: masters are %v, and to this one they are %v", errTopology, c.masters, seen.masters)
	case still && (seen.moving || seen.owner != c.owner):
		return fmt.Errorf("%w: a slot moves", errTopology)
	}
	return nil
}

// cluster asks a node for all masters that it knows and their slots. They include failed ones
// that still own slots, as an instance that reaches one may read from it; where CLUSTER NODES is
// refused, only those that own slots.
func (n *node) cluster(ctx context.Context, timeout time.Duration) (*cluster, error) {
	list, err := n.text(ctx, timeout, "CLUSTER", "NODES")
	if err == nil {
		return parseCluster(list, n.addr)
	}
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); !refused {
		return nil, err
	}
	replies, err2 := n.do(ctx, timeout, []string{"CLUSTER", "SLOTS"})
	if err2 != nil {
		return nil, err
	}
	ranges, err := replies[0].ToArray()
	if err != nil {
		return nil, err
	}
	c, err := parseCluster(nodesOf(ranges), n.addr)
	if err == nil {
		c.moving = true
	}
	return c, err
}

// nodesOf returns the answer to CLUSTER SLOTS as lines of CLUSTER NODES. Each range has its
// first slot, its last one, the master, and replicas.
func nodesOf(ranges []rueidis.RedisMessage) string {
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
		host, _ := at[0].ToString() // nil where the node that was asked is meant
		port, _ := at[1].AsInt64()
		fmt.Fprintf(&list, "- %s:%d@0 master - 0 0 0 connected %d-%d\n", host, port, first, last)
	}
	return list.String()
}

// parseCluster reads the lines of CLUSTER NODES, which asked has written:
// id ip:port@cport,hostname flags master ping pong epoch link slot...
func parseCluster(list, asked string) (*cluster, error) {
	fields := map[string][]string{} // of each master, those of its slots
	also := map[string]string{}
	for line := range strings.Lines(list) {
		line := strings.Fields(line)
		if len(line) < 8 {
			return nil, fmt.Errorf("the cluster has the node %q, which is too short", line)
		}
		flags := strings.Split(line[2], ",")
		is := func(flag string) bool { return slices.Contains(flags, flag) }
		if !is("master") || is("noaddr") || is("handshake") || is("fail") && len(line) == 8 {
			continue
		}
		addr, err := nodeAddress(line[1], asked)
		if err != nil {
			return nil, err
		}
		fields[addr] = append(fields[addr], line[8:]...)
		plain, _, _ := strings.Cut(line[1], ",")
		also[addr], _ = nodeAddress(plain, asked) // as above
	}
	c := &cluster{masters: slices.Sorted(maps.Keys(fields))}
	for slot := range c.owner {
		c.owner[slot] = -1
	}
	for i, addr := range c.masters {
		c.also = append(c.also, also[addr])
		for _, field := range fields[addr] {
			c.moving = c.moving || field[0] == '['
			c.own(int16(i), field)
		}
	}
	return c, nil
}

// own gives a master the slots of a field of CLUSTER NODES: 5, or 5-7. A field may also be
// [5->-id, of one that moves.
func (c *cluster) own(i int16, field string) {
	from, to, ranges := strings.Cut(field, "-")
	if !ranges {
		to = from
	}
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if errors.Join(err, err2) != nil {
		return
	}
	for slot := max(first, 0); slot <= min(last, len(c.owner)-1); slot++ {
		c.owner[slot] = i
	}
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
