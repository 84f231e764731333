package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

const slots = 16384

// A Cluster is a Redis Cluster of masters without replicas.
type Cluster struct{ Masters []*Server }

// StartCluster runs a cluster of n masters. Further servers that are to Join it are
// started with StartNode.
func StartCluster(n int) (*Cluster, error) {
	c := &Cluster{}
	return orStop(c, c.start(n))
}

// StartNode runs a server that can be a node of a cluster, and is of none.
func StartNode() (*Server, error) {
	return Start("--cluster-enabled", "yes", "--cluster-node-timeout", "10000", "--cluster-config-file", "nodes.conf")
}

func (c *Cluster) start(n int) error {
	for range n {
		s, err := StartNode()
		if err != nil {
			return err
		}
		c.Masters = append(c.Masters, s)
	}
	for i, s := range c.Masters {
		from, to := slots*i/len(c.Masters), slots*(i+1)/len(c.Masters)-1
		if _, err := s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
			return err
		}
		// Different epochs, so that the first failover or migration needs no negotiation.
		if _, err := s.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	for _, s := range c.Masters[1:] {
		if err := c.meet(s); err != nil {
			return err
		}
	}
	return c.settled(len(c.Masters))
}

// Join makes a server a master of the cluster, without slots.
func (c *Cluster) Join(s *Server) error {
	if err := c.meet(s); err != nil {
		return err
	}
	c.Masters = append(c.Masters, s)
	return c.settled(len(c.Masters))
}

func (c *Cluster) meet(s *Server) error {
	host, port, _ := net.SplitHostPort(c.Masters[0].Addr)
	_, err := s.Do("CLUSTER", "MEET", host, port)
	return err
}

// settled waits until all masters know n nodes and report that the cluster is ok.
func (c *Cluster) settled(n int) error {
	for _, s := range c.Masters {
		err := s.waitUntil(func(ctx context.Context, client rueidis.Client) bool {
			info, err := client.Do(ctx, client.B().ClusterInfo().Build()).ToString()
			nodes, err2 := client.Do(ctx, client.B().ClusterNodes().Build()).ToString()
			return err == nil && err2 == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r\n", n)) &&
				!strings.Contains(nodes, "handshake") && strings.Count(nodes, " connected") == n
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Owner returns the master that has the slot of a key.
func (c *Cluster) Owner(key string) (owner *Server, slot string, err error) {
	reply, err := c.Masters[0].Do("CLUSTER", "KEYSLOT", key)
	if err != nil {
		return nil, "", err
	}
	n, err := reply.AsInt64()
	if err != nil {
		return nil, "", err
	}
	for _, s := range c.Masters {
		if _, err := s.Do("GET", key); err == nil || rueidis.IsRedisNil(err) {
			return s, strconv.FormatInt(n, 10), nil
		}
	}
	return nil, "", fmt.Errorf("no master has slot %d", n)
}

// Migrate moves a slot with its keys, as redis-cli --cluster reshard does.
func (c *Cluster) Migrate(slot string, from, to *Server) error {
	fromID, err := id(from)
	toID, err2 := id(to)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if _, err := to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID); err != nil {
		return err
	}
	if _, err := from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", toID); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		reply, err := from.Do("CLUSTER", "GETKEYSINSLOT", slot, "100")
		if err != nil {
			return err
		}
		keys, err := reply.AsStrSlice()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if _, err := from.Do(append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)...); err != nil {
			return err
		}
	}
	for _, s := range append([]*Server{to, from}, c.Masters...) {
		if _, err := s.Do("CLUSTER", "SETSLOT", slot, "NODE", toID); err != nil {
			return err
		}
	}
	return nil
}

func id(s *Server) (string, error) {
	reply, err := s.Do("CLUSTER", "MYID")
	if err != nil {
		return "", err
	}
	return reply.ToString()
}

// Stop ends all servers.
func (c *Cluster) Stop() {
	for _, s := range c.Masters {
		s.Stop()
	}
}
