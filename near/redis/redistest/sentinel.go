package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"
)

// MasterName is what the Sentinels of a Failover call its master.
const MasterName = "test"

// A Failover is a master, its replica, and Sentinels that make the replica the master
// when they cannot reach that for half a second.
type Failover struct {
	Master, Replica *Server
	Sentinels       []*Server
}

// StartFailover runs n Sentinels; more than half of them have to agree.
func StartFailover(n int) (*Failover, error) {
	f := &Failover{}
	return orStop(f, f.start(n))
}

func (f *Failover) start(n int) (err error) {
	if f.Master, err = Start(); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(f.Master.Addr)
	if f.Replica, err = Start("--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0"); err != nil {
		return err
	}
	if err := f.Replica.waitUntil(infoHas("replication", "master_link_status:up")); err != nil {
		return err
	}
	for range n {
		s, err := startSentinel(host, port, n/2+1)
		if err != nil {
			return err
		}
		f.Sentinels = append(f.Sentinels, s)
	}
	for _, s := range f.Sentinels {
		if err := s.waitUntil(infoHas("sentinel", "status=ok", "slaves=1", fmt.Sprintf("sentinels=%d", n))); err != nil {
			return err
		}
	}
	return nil
}

func startSentinel(host, port string, quorum int) (*Server, error) {
	return startConfigured([]string{
		fmt.Sprintf("sentinel monitor %s %s %s %d", MasterName, host, port, quorum),
		"sentinel down-after-milliseconds " + MasterName + " 500",
		"sentinel failover-timeout " + MasterName + " 3000",
	}, "--sentinel")
}

func infoHas(section string, wants ...string) func(context.Context, rueidis.Client) bool {
	return func(ctx context.Context, c rueidis.Client) bool {
		info, err := c.Do(ctx, c.B().Info().Section(section).Build()).ToString()
		for _, want := range wants {
			if err != nil || !strings.Contains(info, want) {
				return false
			}
		}
		return true
	}
}

// Promote makes the replica the master, as an administrator does, and returns when all
// Sentinels name it. Both stay alive. From then on a master may be silent for 5 seconds:
// there is no second failover because a machine stalls.
func (f *Failover) Promote() error {
	for _, s := range f.Sentinels {
		if _, err := s.Do("SENTINEL", "SET", MasterName, "down-after-milliseconds", "5000"); err != nil {
			return err
		}
	}
	if _, err := f.Sentinels[0].Do("SENTINEL", "FAILOVER", MasterName); err != nil {
		return err
	}
	for _, s := range f.Sentinels {
		if err := s.waitUntil(infoHas("sentinel", "address="+f.Replica.Addr)); err != nil {
			return err
		}
	}
	return nil
}

// Sync returns when the replica has what the master had when Sync was called.
func (f *Failover) Sync() error {
	c, err := dial(f.Master.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	// WAIT waits for what its own connection wrote, and so for all before that.
	for _, reply := range c.DoMulti(context.Background(),
		c.B().Set().Key("redistest").Value("sync").Build(),
		c.B().Wait().Numreplicas(1).Timeout(5000).Build()) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// Addrs returns the addresses of the Sentinels.
func (f *Failover) Addrs() (addrs []string) {
	for _, s := range f.Sentinels {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Stop ends all servers.
func (f *Failover) Stop() {
	for _, s := range append(f.Sentinels, f.Master, f.Replica) {
		if s != nil {
			s.Stop()
		}
	}
}
