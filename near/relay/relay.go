package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A Log is what has changed in a database. The Changes of near/postgres are one.
type Log interface {
	near.Coverer // by the keys of which it tells

	// ID tells logs apart that are of other databases, or tell of other keys, as those of two versions of a program. It
	// is a part of keys of the store.
	ID() string

	// Lead waits until no other process with the same ID leads, and calls f. read reads what has become visible
	// since a position, or, if that is empty or too old, all prefixes. It returns an error when this process leads no
	// more. Lead returns what f returns.
	Lead(ctx context.Context, f func(ctx context.Context, read Read) error) error
}

// Read is what a [Log] reads by.
type Read func(ctx context.Context, since string) (Batch, error)

// A Batch is what a [Log] has read.
type Batch struct {
	Position string   // from which the next one goes on
	Keys     []string // that have changed
	Prefixes []string // of keys, all of which may have
}

// A Store is one from which a relay removes keys.
type Store interface {
	near.Store
	DelPrefix(ctx context.Context, prefix string) (removed int, err error) // as near.Fleet has it
}

// Options says how a relay works.
type Options struct {
	// Every is the time from the end of a round to the next one; 0 means 50 ms. It should be at most a fifth of the MaxLag
	// of those who follow, or they confirm a moment too late now and then.
	Every time.Duration

	// Timeout is how long each call of the store and the database may take; 0 means two seconds. After a failure the
	// round is begun anew.
	Timeout time.Duration

	// Logger gets who leads, and what fails, each when it changes; nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultEvery   = 50 * time.Millisecond
	defaultTimeout = 2 * time.Second
	keys           = "near:relay:" // the beginning of those that relays write
	atOnce         = 500           // keys that are removed by one call
	pause          = time.Second   // after a leader that had no whole round
)

// Run relays until ctx ends, and returns its cause. Every instance runs one; one of them leads, and another does when that
// one has ended or lost its connection. It may be killed at any moment: the next leader goes on from what the store has
// as its position. If the store has none, as when it is empty, or when a leader was killed while it wrote that, all keys of
// all tables are removed.
func Run(ctx context.Context, log Log, store Store, o Options) error {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	r := &runner{Options: o, store: store, id: log.ID()}
	for ctx.Err() == nil {
		r.ended = 0
		err := log.Lead(ctx, r.lead)
		if ctx.Err() == nil && err != nil && !r.failed {
			o.Logger.Warn("near/relay: a round has failed; others are tried until one works", "err", err)
			r.failed, r.leads = true, false
		}
		if r.ended > 0 {
			wait(ctx, o.Every)
		} else { // another one may lead, who can do better
			wait(ctx, pause)
		}
	}
	return context.Cause(ctx)
}

// A runner is a Run.
type runner struct {
	Options
	store         Store
	id            string
	token         string // rounds of others are told apart by it, and those before a failure
	round, ended  int    // the last that was begun, and that has ended
	leads, failed bool   // as it was logged
}

// lead has one round after another, until one fails.
func (r *runner) lead(ctx context.Context, read Read) error {
	// A write of the last round, that has failed, may come late. What it says is of another token.
	r.token, r.round, r.ended = rand.Text(), 0, 0
	for ; ; wait(ctx, r.Every) {
		if err := r.work(ctx, read); err != nil {
			return err
		}
		if !r.leads {
			r.Logger.Info("near/relay: this instance removes from the store what changes in the database")
		}
		r.leads, r.failed = true, false
	}
}

// work is a round. It goes on from the position in the store, which says what was removed there: if a store of one server
// has lost something, as by a restart, it has also lost later positions.
func (r *runner) work(ctx context.Context, read Read) error {
	r.round++
	if err := r.say(ctx); err != nil {
		return err
	}
	since, err := r.position(ctx)
	if err != nil {
		return err
	}
	var b Batch
	if err := r.call(ctx, func(ctx context.Context) (err error) { b, err = read(ctx, since); return err }); err != nil {
		return err
	}
	if err := r.remove(ctx, b); err != nil {
		return err
	}
	if err := r.putPosition(ctx, since, b.Position); err != nil {
		return err
	}
	r.ended = r.round
	return r.say(ctx)
}

var errOther = errors.New("near/relay: another relay leads too, or the store has lost something")

func (r *runner) beat() beat { return beat{r.token, r.round, r.ended} }

// position returns the position in the store, or "" if it may be later than what was removed there: then the store has lost
// the mark that came before it.
func (r *runner) position(ctx context.Context) (string, error) {
	text, err := r.get(ctx, keys+r.id+":position")
	if err != nil {
		return "", err
	}
	mark, err := r.get(ctx, keys+r.id+":mark")
	if of, position, ok := strings.Cut(text, "|"); ok && of == mark {
		return position, err
	}
	return "", err
}

// putPosition puts a position after the removals, if the store is still what they were removed from. A mark comes first,
// and the check after it: a store that is put back to an earlier state before the check has another beat, and one that is
// after it another mark, to which the position does not fit.
func (r *runner) putPosition(ctx context.Context, since, position string) error {
	mark := rand.Text()
	if position != since {
		if err := r.put(ctx, keys+r.id+":mark", mark); err != nil {
			return err
		}
	}
	switch kept, err := r.get(ctx, beatOf(r.id)); {
	case err != nil:
		return err
	case kept != r.beat().String():
		return errOther
	case position == since:
		return nil
	}
	return r.put(ctx, keys+r.id+":position", mark+"|"+position)
}

// say says which round was begun last, and which has ended last.
func (r *runner) say(ctx context.Context) error {
	return r.put(ctx, beatOf(r.id), r.beat().String())
}

// remove removes what has changed, and returns when all that is done.
func (r *runner) remove(ctx context.Context, b Batch) error {
	for _, prefix := range b.Prefixes {
		if _, err := r.store.DelPrefix(ctx, prefix); err != nil { // it may take long
			return fmt.Errorf("near/relay: removing %q: %w", prefix, err)
		}
	}
	for _, keys := range r.byServer(b.Keys) {
		for len(keys) > 0 {
			some := keys[:min(atOnce, len(keys))]
			keys = keys[len(some):]
			if err := r.call(ctx, func(ctx context.Context) error { return r.store.Del(ctx, some...) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// byServer returns keys by the server that has them.
func (r *runner) byServer(keys []string) map[int][]string {
	of, ok := r.store.(near.Sharded)
	if !ok {
		return map[int][]string{0: keys}
	}
	parts := map[int][]string{}
	for _, key := range keys {
		parts[of.Server(key)] = append(parts[of.Server(key)], key)
	}
	return parts
}

func (r *runner) put(ctx context.Context, key, value string) error {
	return r.call(ctx, func(ctx context.Context) error {
		return r.store.Set(ctx, key, near.Item{State: near.Found, Value: []byte(value)})
	})
}

// get returns the text of a key, empty if there is none.
func (r *runner) get(ctx context.Context, key string) (text string, err error) {
	err = r.call(ctx, func(ctx context.Context) error {
		items, err := r.store.Get(ctx, key)
		if err == nil {
			text = string(items[0].Value)
		}
		return err
	})
	return text, err
}

// call calls the store or the database.
func (r *runner) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := f(ctx); err != nil {
		return fmt.Errorf("near/relay: %w", err)
	}
	return nil
}

// A beat says which round a relay has begun last, and which has ended last.
type beat struct {
	token        string
	begun, ended int
}

func (b beat) String() string { return fmt.Sprint(b.token, " ", b.begun, " ", b.ended) }

// parseBeat returns the zero beat for a text that is none.
func parseBeat(text string) (b beat) {
	if _, err := fmt.Sscan(text, &b.token, &b.begun, &b.ended); err != nil {
		return beat{}
	}
	return b
}

func beatOf(id string) string { return keys + id + ":beat" }

func wait(ctx context.Context, d time.Duration) {
	due := time.NewTimer(d)
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
	}
}
