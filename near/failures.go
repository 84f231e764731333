package near

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// failures has the last errors of the store and of the source, for the statistics, which keep it but not
// the cache, and logs what is rare.
type failures struct {
	logger *slog.Logger // nil: slog's default, of the moment
	name   string       // of the cache

	store, source atomic.Pointer[stats.Failure]
	broken        atomic.Int64 // when a value that cannot be decoded was logged last, in nanoseconds since 1970
}

func (f *failures) last() (store, source *stats.Failure) { return f.store.Load(), f.source.Load() }

func (f *failures) storeFailed(err error) { f.store.Store(&stats.Failure{Time: time.Now(), Err: err}) }

func (f *failures) sourceLost(err error) { f.source.Store(&stats.Failure{Time: time.Now(), Err: err}) }

// undecodable logs one of them a minute.
func (f *failures) undecodable(err error) {
	f.storeFailed(err)
	now, before := time.Now().UnixNano(), f.broken.Load()
	if now-before >= int64(time.Minute) && f.broken.CompareAndSwap(before, now) {
		f.log(slog.LevelWarn, "near: a value of the store cannot be decoded, and is removed: does another version or program write under this Prefix?", err)
	}
}

func (f *failures) log(level slog.Level, what string, err error) {
	args := []any{"cache", f.name}
	if err != nil {
		args = append(args, "err", err)
	}
	cmp.Or(f.logger, slog.Default()).Log(context.Background(), level, what, args...)
}
