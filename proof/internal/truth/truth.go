// Package truth has the rows of neartest in databases. Their writers use plain SQL.
package truth

import (
	"context"
	"math/rand/v2"
	"time"
)

// Prefix is that of the keys of rows.
const Prefix = "row:"

// stayOpen waits for a while, sometimes for long.
func stayOpen(ctx context.Context, longest time.Duration) {
	pause := longest / 20
	if rand.N(8) == 0 {
		pause = longest
	}
	select {
	case <-time.After(rand.N(pause)):
	case <-ctx.Done():
	}
}
