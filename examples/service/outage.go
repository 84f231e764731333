package main

import (
	"context"
	"errors"
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

// warmUp reads all users into the cache, without the delay, so that each has a value that can
// stand in. Nobody else uses the database yet.
func warmUp(s *svc.ServiceContext) error {
	delay := s.Store.Delay
	s.Store.Delay = 0
	defer func() { s.Store.Delay = delay }()
	for id := range int64(svc.SeedUsers) {
		if u, err := s.Store.Get(context.Background(), id+1); err == nil {
			s.UserCache.Set(u.ID, u)
		} else if !errors.Is(err, model.ErrNotFound) { // somebody may have deleted it
			return fmt.Errorf("cannot read user %d: %w", id+1, err)
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
