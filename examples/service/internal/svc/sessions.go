package svc

import (
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

// Session is what is known of a session: nothing but when it began. That it is
// alive is its being in the cache.
type Session struct {
	Since time.Time
}

// newSessions returns a cache that holds the live sessions. Each beat gives its
// session the whole time-out again; the timing wheel finds those that had none,
// once each, without anybody walking over the others.
func newSessions(c gozero.Conf) (*cache.Cache[string, Session], error) {
	return gozero.NewCache(c, func(o *cache.Options[string, Session]) {
		o.OnRemove = logSilent(c.Expire)
		o.Jitter = 0 // a time-out is not to be early, whatever the settings say
	})
}

// logSilent returns a callback that logs the sessions nobody ended: a log-out is
// cache.Deleted, and at the end of the service all are removed, which is not worth
// more than a line for those who look for it.
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
