package svc

import (
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
)

// Session is what is known of a session: nothing but when it began. That it is
// alive is its being in the cache.
type Session struct {
	Since time.Time
}

// newSessions returns a cache that holds the live sessions. Each beat gives its
// session the whole timeout again; the timing wheel finds those that had none,
// once each, without anybody walking over the others.
func newSessions(c config.SessionsConf) (*cache.Cache[string, Session], error) {
	return cache.New(cache.Options[string, Session]{
		Name:     "sessions",
		Limit:    c.Limit,
		Expire:   c.Timeout,
		OnRemove: logSilent(c.Timeout),
	})
}

// logSilent returns a callback that logs the sessions nobody ended: a log-out is
// cache.Deleted, the service's own end is no concern of the sessions.
func logSilent(timeout time.Duration) func(cache.Event[string, Session]) {
	return func(e cache.Event[string, Session]) {
		switch e.Cause {
		case cache.Expired:
			logx.Infof("session %q went silent: no beat for %v, alive for %v",
				e.Key, timeout, time.Since(e.Value.Since).Round(time.Millisecond))
		case cache.Evicted:
			logx.Errorf("session %q was dropped: there are too many", e.Key)
		}
	}
}
