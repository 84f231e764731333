package redis

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// ErrNoTracking means that a server cannot push changes: it refuses CLIENT TRACKING or speaks
// RESP2 only, and does not send keyspace notifications either. Use Redis 6 or newer, or set
// notify-keyspace-events to KA there, or Options.Channel here.
var ErrNoTracking = errors.New("no client-side caching")

// errTopology means that other servers than the watched ones may own the keys.
var errTopology = errors.New("the topology has changed")

// rights are those to watch a server, or all of a cluster.
const rights = "+info +ping +client|tracking +cluster|info +cluster|nodes +cluster|slots +cluster|shards +asking"

// tracksNot reports whether err says that a server does not track, or not for this user.
func tracksNot(err error) bool {
	return errors.Is(err, rueidis.ErrNoCache) && !strings.Contains(err.Error(), "BUSY")
}

// watchError says what to do about a server that cannot be watched.
func watchError(user string, err error) error {
	if err == nil {
		return nil
	}
	user = cmp.Or(user, "default")
	switch text := err.Error(); {
	case strings.Contains(text, "NOPERM"):
		return fmt.Errorf("user %q may not watch: %w: want an administrator to run ACL SETUSER %s %s", user, err, user, rights)
	case tracksNot(err):
		return fmt.Errorf("%w (%v): want Redis 6 or newer without a proxy in between, or Options.Channel, which reports only what is written through this package", ErrNoTracking, err)
	}
	return err
}

// deafError says what to do about a server that has refused to track and cannot be heard.
func (o *Options) deafError(refused, err error) error {
	if text := err.Error(); strings.Contains(text, "NOPERM") || strings.Contains(text, "-ERR ") {
		space := fmt.Sprintf("&__keyspace@%d__:", o.Client.SelectDB)
		rights := "~" + beatKeys + "* " + space + beatKeys + "*"
		for _, prefix := range o.Prefixes {
			rights += " " + space + escapeGlob.Replace(prefix) + "*"
		}
		err = fmt.Errorf("%w (%v): want ACL SETUSER %s %s +subscribe +unsubscribe +psubscribe +sadd +smove +pexpire", ErrNoTracking, err, cmp.Or(o.Client.Username, "default"), rights)
	}
	return fmt.Errorf("%v; by keyspace notifications: %w", watchError(o.Client.Username, refused), err)
}

// passes reports whether what kept New from connecting may end by itself, as do failures of the
// network, of a server that loads its data, and of one that is no master yet.
func passes(err error) bool {
	var said *rueidis.RedisError
	var refused *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused), errors.Is(err, ErrNoTracking), errors.Is(err, errChannelInCluster):
		return false
	case errors.As(err, &said):
		code, _, _ := strings.Cut(said.Error(), " ")
		return slices.Contains([]string{"LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "NOQUORUM"}, code)
	}
	return true
}

var (
	errClosed      = errors.New("near/redis: Redis is closed")
	errUnconnected = errors.New("near/redis: Redis was never reached")
)
