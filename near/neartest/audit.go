package neartest

import (
	"context"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// An Audit is a source that notes the moments for which another one vouches. So the verdict
// can tell a source that vouches wrongly from a cache that serves for too long, because a timer of
// this process was late.
type Audit struct {
	source near.Source

	mu     sync.Mutex
	latest time.Time
}

// NewAudit returns a source that tells what another one tells.
func NewAudit(source near.Source) *Audit { return &Audit{source: source} }

// asOf returns the latest moment that was vouched for, which is the zero time for nil.
func (a *Audit) asOf() time.Time {
	if a == nil {
		return time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest
}

// Covers says what the other source says.
func (a *Audit) Covers(key string) bool { return covers(a.source, key) }

// Report counts what the other source counts.
func (a *Audit) Report(n *stats.Near) {
	if r, ok := a.source.(near.Reporter); ok {
		r.Report(n)
	}
}

// Watch tells what the other source tells.
func (a *Audit) Watch(ctx context.Context, w near.Watcher) { a.source.Watch(ctx, auditor{w, a}) }

type auditor struct {
	near.Watcher
	audit *Audit
}

func (a auditor) MaxLag() time.Duration { return near.MaxLag(a.Watcher) }

func (a auditor) Current(asOf time.Time) {
	a.audit.mu.Lock()
	a.audit.latest = asOf
	a.audit.mu.Unlock()
	a.Watcher.Current(asOf)
}

func covers(source near.Source, key string) bool {
	c, ok := source.(near.Coverer)
	return !ok || c.Covers(key)
}
