package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// atOnce is how many keys a server looks at, and removes at most, in one step: that takes well under a millisecond.
const atOnce = 250

// DelPrefix removes all keys that begin with prefix, whatever they have, by SCAN and UNLINK, on all masters at once.
// It returns how many it has removed. An error says which master could not be asked: then keys of it may be left; so may
// keys of slots that have moved meanwhile.
func (r *Redis) DelPrefix(ctx context.Context, prefix string) (removed int, err error) {
	c, err := r.clients.use()
	if err != nil {
		return 0, err
	}
	defer r.clients.done(c)
	s := &sweep{options: r.options, prefix: prefix}
	var masters sync.WaitGroup
	errs := make([]error, len(c.masters))
	for i, addr := range c.masters {
		if c.cluster == nil || c.cluster.has(i) {
			masters.Go(func() { errs[i] = failed("removing on "+addr, prefix, s.master(ctx, c.cluster, addr)) })
		}
	}
	masters.Wait()
	return int(s.removed.Load()), errors.Join(errs...)
}

// A sweep removes keys.
type sweep struct {
	options *Options
	prefix  string
	removed atomic.Int64
}

// master sweeps a master, over one connection: the cursor of SCAN means nothing to another server. It must be the master
// of the same data all the time, and in a cluster the slots must stay as they are: what moves could be missed.
func (s *sweep) master(ctx context.Context, c *cluster, addr string) error {
	o := &s.options.Client
	n, err := dialNode(ctx, *o, addr, nil, nil)
	if err != nil {
		return err
	}
	defer n.close()
	if o.SelectDB > 0 {
		if _, err := n.do(ctx, o.ConnWriteTimeout, []string{"SELECT", strconv.Itoa(o.SelectDB)}); err != nil {
			return err
		}
	}
	if c == nil {
		return s.server(ctx, n)
	}
	if err := n.agrees(ctx, o.ConnWriteTimeout, c, true); err != nil {
		return err
	}
	if err := s.node(ctx, n, true); err != nil {
		return err
	}
	return n.agrees(ctx, o.ConnWriteTimeout, c, true)
}

// server sweeps a master that is in no cluster.
func (s *sweep) server(ctx context.Context, n *node) error {
	before, err := s.data(ctx, n)
	if err != nil {
		return err
	}
	if err := s.node(ctx, n, false); err != nil {
		return err
	}
	if after, err := s.data(ctx, n); err != nil || after == before {
		return err
	}
	return fmt.Errorf("%w: the server was a replica meanwhile, or got its first one", errTopology)
}

// data returns what a master calls its data, as role does, or "" if it refuses to say.
func (s *sweep) data(ctx context.Context, n *node) (string, error) {
	replies, err := n.do(ctx, s.options.Client.ConnWriteTimeout, []string{"INFO", "replication"})
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); refused {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return readRole(replies)
}

// node sweeps a server. It removes what a step has found together with the next step. A key that is there all the time
// is found; leases are keys.
func (s *sweep) node(ctx context.Context, n *node, slots bool) error {
	pattern := escapeGlob.Replace(s.prefix) + "*"
	var found []string
	for cursor, more := "0", true; more || len(found) > 0; {
		commands := s.removal(n.client, found, slots)
		if more {
			commands = append(commands, n.client.B().Arbitrary("SCAN", cursor, "MATCH", pattern, "COUNT", strconv.Itoa(atOnce)).Build())
		}
		replies, err := s.step(ctx, n, commands)
		if err != nil {
			return err
		}
		found = nil
		if more {
			entry, err := replies[len(replies)-1].AsScanEntry()
			if err != nil {
				return err
			}
			found, cursor, more = slices.DeleteFunc(entry.Elements, isOurs), strconv.FormatUint(entry.Cursor, 10), entry.Cursor != 0
		}
	}
	return nil
}

// step sends commands in one packet, counts the keys that were removed, and returns the replies.
func (s *sweep) step(ctx context.Context, n *node, commands rueidis.Commands) ([]rueidis.RedisResult, error) {
	timeout := s.options.Client.ConnWriteTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer for %v", timeout))
	defer cancel()
	replies := n.client.DoMulti(ctx, commands...)
	var first error
	for _, reply := range replies {
		if removed, err := reply.AsInt64(); err == nil { // that of SCAN is no number
			s.removed.Add(removed)
		}
		first = cmp.Or(first, reply.Error())
	}
	if first != nil && ctx.Err() != nil {
		first = context.Cause(ctx)
	}
	return replies, first
}

// removal returns the commands that remove keys, which in a cluster may be of several slots.
func (s *sweep) removal(c rueidis.Client, keys []string, slots bool) (commands rueidis.Commands) {
	switch channel := s.options.Channel; {
	case channel != "": // each is published
		for _, key := range keys {
			commands = append(commands, c.B().Eval().Script(delScript.text).Numkeys(1).Key(key).Arg(channel).Build())
		}
	case slots:
		for _, key := range keys {
			commands = append(commands, c.B().Arbitrary("UNLINK", key).Build())
		}
	case len(keys) > 0:
		commands = append(commands, c.B().Unlink().Key(keys...).Build())
	}
	return commands
}

// relayKeys is what the keys of package relay begin with, which instances read.
const relayKeys = "near:relay:"

// isOurs reports whether a key is one by which instances know each other, or hear whether their connections are whole.
func isOurs(key string) bool {
	return strings.HasPrefix(key, listKeys) || strings.HasPrefix(key, beatKeys) || strings.HasPrefix(key, relayKeys)
}
