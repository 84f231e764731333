package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

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

// join connects to the masters. A member is nil if its error is not.
func (t topology) join(ctx context.Context, o *Options, in *inbox) ([]*member, []error) {
	members, errs := make([]*member, len(t.masters)), make([]error, len(t.masters))
	var joining sync.WaitGroup
	for i, addr := range t.masters {
		joining.Go(func() { members[i], errs[i] = join(ctx, o, t.cluster, addr, in) })
	}
	joining.Wait()
	return members, errs
}

// locate asks the addresses of the options, one after another, who owns the keys; then the masters
// of the cluster that were there before.
func locate(ctx context.Context, o *Options, before []string) (topology, error) {
	ask := locateBySeed
	if o.Client.Sentinel.MasterSet != "" {
		ask = locateBySentinel
	} else if o.Client.ForceSingleClient {
		return topology{masters: o.Client.InitAddress[:1]}, nil
	}
	var failed error
	for i, addr := range append(slices.Clip(o.Client.InitAddress), before...) {
		t, err := ask(ctx, o, addr)
		if err == nil && i >= len(o.Client.InitAddress) && t.cluster == nil {
			err = errors.New("it is no node of a cluster any more")
		}
		if err == nil {
			return t, nil
		}
		failed = errors.Join(failed, fmt.Errorf("near/redis: %s: %w", addr, err))
	}
	return topology{}, failed
}

// locateBySeed asks a server whether it is one of a cluster, and for the others.
func locateBySeed(ctx context.Context, o *Options, addr string) (topology, error) {
	seed, err := dialNode(ctx, o.Client, addr, nil, nil)
	if err != nil {
		return topology{}, err
	}
	defer seed.close()
	timeout := o.Client.ConnWriteTimeout
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
		return topology{}, watchError(o.Client.Username, err)
	}
	return topology{masters: c.masters, cluster: c}, nil
}

// locateBySentinel keeps the connection to the Sentinel: a master that was replaced while it
// could not be reached does not know that, but the Sentinel does, unless it cannot reach most
// of the others either (CKQUORUM).
func locateBySentinel(ctx context.Context, options *Options, addr string) (topology, error) {
	o := options.Client
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
	if err := sentinel.ask(ctx, options.Client.ConnWriteTimeout); err != nil {
		n.close()
		return topology{}, err
	}
	return topology{masters: []string{sentinel.answer}, sentinel: sentinel}, nil
}
