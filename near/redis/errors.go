package redis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// ErrNoTracking means that a server tells of no changes: it has no CLIENT TRACKING, or speaks
// RESP2 only, and its keyspace notifications are off. Have an administrator run CONFIG SET
// notify-keyspace-events KA, use Redis 6 or newer, or set Options.Channel.
var ErrNoTracking = errors.New("no client-side caching")

// errTopology means that other servers than the watched ones may own the keys.
var errTopology = errors.New("the topology has changed")

// cannotTrack reports whether a server that was asked to track has refused.
func cannotTrack(err error) bool { return errors.Is(err, rueidis.ErrNoCache) }

// watchError says what to do about a server that cannot be watched. untracked is why it does not track,
// or nil, and err what has failed then.
func watchError(user string, untracked, err error) error {
	if user == "" {
		user = "default"
	}
	switch {
	case untracked == nil && strings.Contains(err.Error(), "NOPERM"):
		return fmt.Errorf("user %q may not watch: %w: want an administrator to run ACL SETUSER %s +client|tracking +info, in a cluster also +cluster|info +cluster|slots", user, err, user)
	case untracked == nil, !errors.Is(err, errSilent) && !strings.Contains(err.Error(), "NOPERM"):
		return err
	case strings.Contains(untracked.Error(), "NOPERM"):
		return fmt.Errorf("user %q may not track (%v): want an administrator to run ACL SETUSER %s +client|tracking +info; without that: %w", user, untracked, user, err)
	}
	return fmt.Errorf("%w (%v): want Redis 6 or newer without a proxy in between, or keyspace notifications, or Options.Channel, which reports only what is written through this package; %w", ErrNoTracking, untracked, err)
}

var (
	errClosed      = errors.New("near/redis: Redis is closed")
	errUnconnected = errors.New("near/redis: Redis was never reached")
)

// mayPass reports whether New may succeed later, without another setting.
func mayPass(err error) bool {
	for _, refused := range []string{"NOPERM", "NOAUTH", "WRONGPASS"} {
		if strings.Contains(err.Error(), refused) {
			return false
		}
	}
	return !errors.Is(err, ErrNoTracking) && !errors.Is(err, errChannelInCluster)
}

// refusesWrites reports whether a server that can be read has refused to write: its memory is
// full, it lacks replicas, or it cannot save.
func refusesWrites(err error) bool {
	if _, said := rueidis.IsRedisErr(err); !said {
		return false
	}
	for _, refusal := range []string{"OOM command not allowed", "NOREPLICAS", "MISCONF"} {
		if strings.Contains(err.Error(), refusal) {
			return true
		}
	}
	return false
}
