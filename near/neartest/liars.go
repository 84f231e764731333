package neartest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// Drop returns a source that loses each change of another one with a probability, and vouches
// nevertheless. The oracle must find it.
func Drop(source near.Source, probability float64) near.Source {
	return liar{source, func(w near.Watcher) near.Watcher { return dropper{w, probability} }}
}

// Ahead returns a source that vouches for moments later than those of another one: for what it
// has not heard yet. The oracle must find it.
func Ahead(source near.Source, by time.Duration) near.Source {
	return liar{source, func(w near.Watcher) near.Watcher { return ahead{w, by} }}
}

// A liar is a source that changes what another one tells.
type liar struct {
	near.Source
	change func(near.Watcher) near.Watcher
}

// Covers says what the other source says.
func (l liar) Covers(key string) bool { return covers(l.Source, key) }

// Mark is that of the other source.
func (l liar) Mark(ctx context.Context) (near.Mark, error) { return NewAudit(l.Source).Mark(ctx) }

// Moment is that of the other source.
func (l liar) Moment(mark near.Mark) (time.Time, bool) { return NewAudit(l.Source).Moment(mark) }

// Watch changes what the other source tells.
func (l liar) Watch(ctx context.Context, w near.Watcher) { l.Source.Watch(ctx, l.change(w)) }

type dropper struct {
	near.Watcher
	probability float64
}

func (d dropper) MaxLag() time.Duration { return near.MaxLag(d.Watcher) }

func (d dropper) Changed(keys ...string) {
	for _, key := range keys {
		if rand.Float64() >= d.probability {
			d.Watcher.Changed(key)
		}
	}
}

// Revoked loses nothing.
func (d dropper) Revoked(keys ...string) { near.Revoked(d.Watcher, keys...) }

type ahead struct {
	near.Watcher
	by time.Duration
}

func (a ahead) MaxLag() time.Duration { return near.MaxLag(a.Watcher) }

// Current does not wait for the changes until then. Changes are held back for as long, as on a
// slow network.
func (a ahead) Current(time.Time) { a.Watcher.Current(time.Now()) }

func (a ahead) Changed(keys ...string) {
	time.AfterFunc(a.by, func() { a.Watcher.Changed(keys...) })
}

// Late returns a source that tells everything later than another one, as over a slow network. It
// keeps all promises.
func Late(source near.Source, by time.Duration) near.Source { return late{source, by} }

type late struct {
	near.Source
	by time.Duration
}

// Covers says what the other source says.
func (l late) Covers(key string) bool { return covers(l.Source, key) }

// Watch tells w later.
func (l late) Watch(ctx context.Context, w near.Watcher) {
	d := delayed{maxLag: near.MaxLag(w), by: l.by, calls: make(chan delayedCall, 100_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for call := range d.calls {
			time.Sleep(time.Until(call.due))
			call.make(w)
		}
	}()
	l.Source.Watch(ctx, d)
	close(d.calls)
	<-done
}

// A delayed is a watcher that makes each call later, in their order.
type delayed struct {
	maxLag, by time.Duration
	calls      chan delayedCall
}

type delayedCall struct {
	due  time.Time
	make func(near.Watcher)
}

func (d delayed) put(call func(near.Watcher)) { d.calls <- delayedCall{time.Now().Add(d.by), call} }

func (d delayed) MaxLag() time.Duration { return d.maxLag }

func (d delayed) Changed(keys ...string) {
	d.put(func(w near.Watcher) { w.Changed(keys...) })
}

func (d delayed) ChangedAll() { d.put(near.Watcher.ChangedAll) }

func (d delayed) Current(asOf time.Time) {
	d.put(func(w near.Watcher) { w.Current(asOf) })
}

func (d delayed) Lost(err error) {
	d.put(func(w near.Watcher) { w.Lost(err) })
}
