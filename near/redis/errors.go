package redis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// ErrNoTracking means that a server cannot push changes: it speaks RESP2 only, or has no
// CLIENT TRACKING. Set Options.Channel, or use Redis 6 or newer.
var ErrNoTracking = errors.New("no client-side caching")

// errTopology means that other servers than the watched ones may own the keys.
var errTopology = errors.New("the topology has changed")

// dialError says what to do about a server that cannot be watched.
func dialError(user string, err error) error {
	if user == "" {
		user = "default"
	}
	switch {
	case strings.Contains(err.Error(), "NOPERM"):
		return fmt.Errorf("user %q may not watch: %w: want an administrator to run ACL SETUSER %s +client|tracking +info +cluster|info +cluster|nodes", user, err, user)
	case errors.Is(err, rueidis.ErrNoCache):
		return fmt.Errorf("%w (%v): want Redis 6 or newer without a proxy in between, or Options.Channel, which reports only what is written through this package", ErrNoTracking, err)
	}
	return err
}

var errClosed = errors.New("near/redis: Redis is closed")
