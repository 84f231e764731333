package gozero

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/proc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// closeTime bounds how long the end of the service waits for its caches. It leaves
// main half a second of the 4.5 that go-zero gives shutdown listeners.
const closeTime = 4 * time.Second

// open holds the caches to be closed when the service ends.
var open shutdown

// There is one listener for all caches, since go-zero never removes one. It is added at
// init, since go-zero counts listeners in a sync.WaitGroup, and a WaitGroup that is
// used both inside and outside a bubble of testing/synctest ends the process.
func init() { proc.AddShutdownListener(open.closeAll) }

// A shutdown closes caches when the service ends. It references them weakly.
type shutdown struct {
	mu     sync.Mutex
	closes map[any]func(context.Context) // by weak pointer
}

// closeAtShutdown adds a cache to open, until it is garbage-collected. file is nil if
// the cache has none.
func closeAtShutdown[K comparable, V any](c *cache.Cache[K, V], name string, file *snapshotFile[K, V]) {
	w := weak.Make(c)
	open.add(w, func(ctx context.Context) {
		c := w.Value()
		if c == nil {
			return
		}
		if file != nil {
			file.saveLast(ctx, c)
		}
		if err := c.Close(ctx); err != nil {
			logx.Errorf("cache(%s) - loads or callbacks did not end within %v: %v", name, closeTime, err)
		}
	})
	runtime.AddCleanup(c, func(w weak.Pointer[cache.Cache[K, V]]) { open.remove(w) }, w)
}

func (s *shutdown) add(key any, closes func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closes == nil {
		s.closes = make(map[any]func(context.Context))
	}
	s.closes[key] = closes
}

func (s *shutdown) remove(key any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.closes, key)
}

// closeAll closes all caches at the same time. It returns when they are closed, or
// after closeTime.
func (s *shutdown) closeAll() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.closes))
	s.mu.Unlock()
	var ends sync.WaitGroup
	for _, closes := range all {
		ends.Go(func() { closes(ctx) })
	}
	ends.Wait()
}
