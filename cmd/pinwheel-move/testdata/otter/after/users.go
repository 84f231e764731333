// Package otter uses all of otter that can move.
package otter

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type Users struct {
	c     *cache.Cache[int, string]
	heavy *cache.Cache[int, string]
}

func New() (*Users, error) {
	c, err := cache.New(cache.Options[int, string]{Limit: 10_000, Expire: time.Hour})
	if err != nil {
		return nil, err
	}
	return &Users{c, cache.Must(cache.Options[int, string]{MaxWeight: 1 << 20, Weigh: func(_ int, name string) uint32 { return uint32(len(name)) }, Idle: time.Hour})}, nil
}

func (u *Users) Name(id int) (string, bool) {
	u.c.Set(id, "a")
	u.c.GetOrSet(id, "b")
	u.c.Touch(id, time.Minute)

	for id := range u.heavy.All() {
		u.heavy.Del(id)
	}
	if name, ok := u.c.GetAndDel(id); ok {
		return name, u.c.Len() > 0
	}
	defer u.heavy.Clear()
	return u.c.Get(id)
}
