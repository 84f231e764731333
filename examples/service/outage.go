package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

// shortestOutage is long enough for several values to expire in it.
const shortestOutage = time.Second

// outlast changes the settings of the cache of users so that outages can be seen and
// outlasted: values expire several times in each, and all users have room and much Grace.
// Without Patience a value in Grace is always a hit, so a miss is what a user would notice.
func outlast(c *gozero.Conf, outage time.Duration) {
	c.Limit = 2 * svc.SeedUsers
	c.Expire = min(5*time.Second, outage/4)
	c.Grace = 24*time.Hour + 2*outage
	c.Patience = 0
}

// warmUp reads all users into the cache, so that each has a value that can stand in.
func warmUp(s *svc.ServiceContext) error {
	const atOnce = 500
	ids := make([]int64, atOnce)
	for first := int64(1); first <= svc.SeedUsers; first += atOnce {
		for i := range ids {
			ids[i] = first + int64(i)
		}
		if err := s.Users.Fill(context.Background(), ids); err != nil {
			return fmt.Errorf("cannot read users %d to %d: %w", first, ids[atOnce-1], err)
		}
	}
	return nil
}

// takeTurns makes the database work, hang, work and fail in turn, each for a while, until
// ctx ends, and prints each change.
func takeTurns(ctx context.Context, store *model.Store, while time.Duration, out io.Writer) {
	defer store.SetHealth(model.Well)
	for turn := 0; ; turn++ {
		now, says := model.Well, "works"
		switch turn % 4 {
		case 1:
			now, says = model.Hangs, "hangs"
		case 3:
			now, says = model.Fails, "fails"
		}
		store.SetHealth(now)
		_, _ = fmt.Fprintf(out, "%s  the database %s for %v\n", time.Now().Format(time.TimeOnly), says, while) // goes on even if nobody reads the output
		select {
		case <-time.After(while):
		case <-ctx.Done():
			return
		}
	}
}
