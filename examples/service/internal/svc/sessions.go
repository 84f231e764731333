package svc

import (
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

// Session is a live session: one is alive as long as it is in the cache.
type Session struct {
	Since time.Time
}

// newSessions returns a cache that holds the live sessions. Each beat renews the whole
// timeout of its session. The cache's timing wheel finds each session that had no beat,
// without a scan of the others.
func newSessions(c gozero.Conf) (*cache.Cache[string, Session], error) {
	return gozero.NewCache(c, func(o *cache.Options[string, Session]) {
		o.OnRemove = logSilent(c.Expire)
		o.Jitter = 0 // a timeout must not be early, whatever the settings say
	})
}

// logSilent returns a callback that logs the sessions that went silent or were evicted.
// The sessions removed at the end of
// the service are logged at debug level only.
func logSilent(timeout time.Duration) func(cache.Event[string, Session]) {
	return func(e cache.Event[string, Session]) {
		switch e.Cause {
		case cache.Expired:
			logx.Infof("session %q went silent: no beat for %v, alive for %v",
				e.Key, timeout, time.Since(e.Value.Since).Round(time.Millisecond))
		case cache.Evicted:
			logx.Errorf("session %q was dropped: there are too many", e.Key)
		case cache.Cleared:
			logx.Debugf("session %q was removed with all others", e.Key)
		}
	}
}
