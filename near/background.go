package near

import (
	"context"
	"sync"
	"time"
)

// A background runs what goes on without a caller, until the cache is closed.
type background struct {
	closing context.Context // ends with close
	stop    context.CancelFunc

	mu     sync.Mutex // guards closed; nothing begins after it is set
	closed bool
	tasks  sync.WaitGroup
}

func (b *background) init() { b.closing, b.stop = context.WithCancel(context.Background()) }

// begin runs f in a goroutine, unless the cache is closed. Its context has the values of ctx,
// and ends after a time or with close.
func (b *background) begin(ctx context.Context, within time.Duration, f func(ctx context.Context)) (begun bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		defer context.AfterFunc(b.closing, cancel)()
		f(ctx)
	})
	return true
}

// close ends what is under way, and waits for it until ctx ends.
func (b *background) close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	ended := make(chan struct{})
	go func() {
		b.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
