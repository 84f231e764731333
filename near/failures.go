package near

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// failures has the last errors of the store and of the source, for the statistics, and logs what is
// rare.
type failures struct {
	logger *slog.Logger // nil: slog.Default(), as of the moment of a line
	cache  string       // its name
	made   time.Time

	store, source atomic.Pointer[sources.Failure]

	storeAway, sourceLost, undecodable, unlisted, unanswered, violated, lost warning
}

// A warning is a line of the log that comes at most once a minute, however often it is due.
type warning struct {
	at   atomic.Int64 // when it came last, in nanoseconds since the cache was made; 0: never
	open atomic.Bool  // it came, and was not taken back
}

// last is the option Failures of a cache.
func (f *failures) last() (store, source *sources.Failure) { return f.store.Load(), f.source.Load() }

func (f *failures) noteStore(err error) { f.store.Store(&sources.Failure{Time: time.Now(), Err: err}) }

func (f *failures) noteSource(err error) {
	f.source.Store(&sources.Failure{Time: time.Now(), Err: err})
}

// warn logs a warning, unless it came within the last minute.
func (f *failures) warn(w *warning, what string, err error) {
	now, before := int64(time.Since(f.made))+1, w.at.Load()
	if (before == 0 || now-before >= int64(time.Minute)) && w.at.CompareAndSwap(before, now) {
		w.open.Store(true)
		f.log(slog.LevelWarn, what, "cache", f.cache, "err", err)
	}
}

// takeBack logs that what a warning said is over, if it came.
func (f *failures) takeBack(w *warning, what string) {
	if w.open.Swap(false) {
		f.log(slog.LevelInfo, what, "cache", f.cache)
	}
}

func (f *failures) log(level slog.Level, what string, args ...any) {
	cmp.Or(f.logger, slog.Default()).Log(context.Background(), level, what, args...)
}
