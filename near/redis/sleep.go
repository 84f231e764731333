package redis

import (
	"context"
	"time"
)

// The pauses before something that has failed is tried again grow from the first to the last.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
