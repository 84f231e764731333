package redis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Options say where Redis is, and which keys to watch.
type Options struct {
	// Client says how to reach Redis: InitAddress, Username, Password, TLSConfig,
	// Sentinel, SelectDB and so on. One address of a cluster is enough.
	//
	// Commands are not repeated when a connection breaks (DisableRetry is set): the
	// near cache decides what a failure means. A ConnWriteTimeout or Dialer.Timeout of 0
	// means one second.
	Client rueidis.ClientOption

	// Prefixes of the keys to watch. At least one, and none may begin with another.
	// The empty prefix watches all keys, of all databases of the server.
	Prefixes []string

	// StartWithoutRedis lets New succeed while Redis cannot be reached, so that a service
	// that starts in an outage comes up. Calls of the store fail, and nothing is served
	// from memory, until a Watch has connected. New still fails if Redis refuses the user
	// or cannot push changes.
	StartWithoutRedis bool

	// Channel, if not empty, is used instead of tracking and of keyspace notifications, for
	// servers that have neither: each change made through this package is published there,
	// and other changes are not seen. The package documentation says what that means. All
	// instances must have the same Channel.
	Channel string

	// Relay, if not empty, is the name of the relay (package near/relay) that removes the keys
	// from this Redis. Its beats are watched as well.
	Relay string

	// Fleet, if not empty, is the name of the instances that read these keys, which must be the
	// same in all of them. It is what Mark, near.Cache.TakeSince and Revoke need: the instances make
	// themselves known in Redis, in a hash, by a write three times in MaxLag. An instance
	// that cannot write there, as memory is full, serves nothing from memory.
	Fleet string
}

// check returns what is wrong, and fills in the defaults.
func (o *Options) check() error {
	if err := checkAddresses(o.Client.InitAddress); err != nil {
		return err
	}
	if o.Client.SendToReplicas != nil || o.Client.ReplicaOnly || len(o.Client.Standalone.ReplicaAddress) > 0 {
		return errors.New("near/redis: Client reads from replicas, whose answers may be older than what the watched master has reported: want no SendToReplicas, ReplicaOnly or Standalone.ReplicaAddress")
	}
	if len(o.Prefixes) == 0 {
		return errors.New(`near/redis: Prefixes is empty: want those of the keys that are cached: []string{"user:"}, or []string{""} for all keys`)
	}
	for i, a := range o.Prefixes {
		for j, b := range o.Prefixes {
			if i != j && strings.HasPrefix(b, a) {
				return fmt.Errorf("near/redis: prefix %q covers %q, and Redis refuses to report a change twice: want the shorter only", a, b)
			}
		}
	}
	if o.Relay != "" && slices.Contains(o.Prefixes, "") {
		return fmt.Errorf("near/redis: Relay is %q and Prefixes has \"\": want the prefixes of the cached keys only, as a relay that begins removes all keys with these", o.Relay)
	}
	if o.Relay != "" {
		o.Prefixes = append(slices.Clone(o.Prefixes), beats(o.Relay))
	}
	if o.Fleet != "" && slices.Contains(o.Prefixes, "") {
		return fmt.Errorf("near/redis: Fleet is %q and Prefixes has \"\": want the prefixes of the cached keys only, as all instances would be told of each beat of each", o.Fleet)
	}
	if o.Fleet != "" {
		o.Prefixes = append(slices.Clone(o.Prefixes), revocations(o.Fleet))
	}
	if o.Client.ConnWriteTimeout == 0 {
		o.Client.ConnWriteTimeout = time.Second
	}
	if o.Client.Dialer.Timeout == 0 {
		o.Client.Dialer.Timeout = time.Second
	}
	if o.Client.ClientSetInfo == nil {
		o.Client.ClientSetInfo = rueidis.DisableClientSetInfo // it needs a right of its own
	}
	o.Client.DisableCache = true
	o.Client.DisableRetry = true
	o.Client.OnInvalidations, o.Client.ClientTrackingOptions = nil, nil
	return nil
}
