// Package otter uses all of otter that can move.
package otter

import (
	"time"

	"github.com/maypok86/otter/v2"
)

type Users struct {
	c     *otter.Cache[int, string]
	heavy *otter.Cache[int, string]
}

func New() (*Users, error) {
	c, err := otter.New(&otter.Options[int, string]{
		MaximumSize:      10_000,
		InitialCapacity:  100,
		ExpiryCalculator: otter.ExpiryWriting[int, string](time.Hour),
	})
	if err != nil {
		return nil, err
	}
	return &Users{c, otter.Must(&otter.Options[int, string]{
		MaximumWeight:    1 << 20,
		Weigher:          func(_ int, name string) uint32 { return uint32(len(name)) },
		ExpiryCalculator: otter.ExpiryAccessing[int, string](time.Hour),
	})}, nil
}

func (u *Users) Name(id int) (string, bool) {
	u.c.Set(id, "a")
	u.c.SetIfAbsent(id, "b")
	u.c.SetExpiresAfter(id, time.Minute)
	u.c.CleanUp()
	for id := range u.heavy.All() {
		u.heavy.Invalidate(id)
	}
	if name, ok := u.c.Invalidate(id); ok {
		return name, u.c.EstimatedSize() > 0
	}
	defer u.heavy.InvalidateAll()
	return u.c.GetIfPresent(id)
}
