package redis

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
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
	// means one second. A nil ClientSetInfo means that no CLIENT SETINFO is sent: not all
	// servers know it, and by ACL it is a right of its own.
	Client rueidis.ClientOption

	// Prefixes of the keys to watch. At least one, and none may begin with another.
	// The empty prefix watches all keys: with tracking, of all databases of the server.
	Prefixes []string

	// ConnectLater lets New succeed if Redis cannot be reached: Watch connects, and until then
	// calls fail. What no waiting mends is an error nevertheless: a wrong password or
	// certificate, a right that is missing, ErrNoTracking.
	ConnectLater bool

	// Channel, if not empty, is used instead of tracking, for servers that neither track nor
	// send keyspace notifications: each change made through this package is published there,
	// and other changes are not seen. The package documentation says what that means. All
	// instances must have the same Channel.
	Channel string

	// Logger gets what is rare, such as that changes cannot be watched and why; nil means
	// slog.Default(), as of that moment.
	Logger *slog.Logger
}

// log returns the Logger.
func (o *Options) log() *slog.Logger { return cmp.Or(o.Logger, slog.Default()) }

// Format prints, for every verb of package fmt, the options without passwords.
func (o Options) Format(f fmt.State, _ rune) {
	addrs := slices.Clone(o.Client.InitAddress)
	for i, addr := range addrs {
		if isURL(addr) {
			addrs[i] = "(URL)"
		}
	}
	fmt.Fprintf(f, "{InitAddress:%q Prefixes:%q Channel:%q}", addrs, o.Prefixes, o.Channel)
}

// isURL reports whether an address looks like one that can have a password, which must not
// be printed.
func isURL(addr string) bool {
	return strings.Contains(addr, "://") || strings.LastIndexByte(addr, '@') > 0
}

// check returns what is wrong, and fills in the defaults.
func (o *Options) check() error {
	if len(o.Client.InitAddress) == 0 {
		return errors.New(`near/redis: Client.InitAddress is empty: want the address of Redis, of its Sentinels, or of a node of the cluster: []string{"127.0.0.1:6379"}`)
	}
	if slices.ContainsFunc(o.Client.InitAddress, isURL) {
		return errors.New("near/redis: an address of Client.InitAddress is a URL: want host:port; rueidis.ParseURL makes a Client of a URL")
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
	if o.Client.ConnWriteTimeout == 0 {
		o.Client.ConnWriteTimeout = time.Second
	}
	if o.Client.Dialer.Timeout == 0 {
		o.Client.Dialer.Timeout = time.Second
	}
	if o.Client.ClientSetInfo == nil {
		o.Client.ClientSetInfo = rueidis.DisableClientSetInfo
	}
	o.Client.DisableCache = true
	o.Client.DisableRetry = true
	o.Client.OnInvalidations, o.Client.ClientTrackingOptions = nil, nil
	return nil
}
