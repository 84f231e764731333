package near

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A breaker spares the callers a store that hangs. When calls in a row have taken longer than
// Timeout, it is open: calls fail at once, and one at a time in the background finds out
// whether the store answers.
type breaker struct {
	late    atomic.Int32 // calls in a row that took too long
	probing atomic.Bool  // a probe is under way
}

// tolerated is how many calls in a row may take too long before the breaker opens.
const tolerated = 3

var errSpared = fmt.Errorf("%w: it has not answered %d calls in a row in time, and is tried again in the background", ErrStore, tolerated)

func (b *breaker) isOpen() bool { return b.late.Load() >= tolerated }

// answered records that a call has ended in time.
func (b *breaker) answered() {
	if b.late.Load() > 0 {
		b.late.Store(0)
	}
}

func (b *breaker) tooLate() { b.late.Add(1) }

// probe asks the store in the background, unless somebody does so already.
func (b *breaker) probe(bg *background, timeout time.Duration, ask func(context.Context) error) {
	if b.probing.Swap(true) {
		return
	}
	bg.begin(context.Background(), timeout, func(ctx context.Context) {
		defer b.probing.Store(false)
		if err := ask(ctx); err == nil || ctx.Err() == nil {
			b.answered()
		}
	})
}
