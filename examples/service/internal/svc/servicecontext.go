// Package svc holds what the handlers share.
package svc

import (
	"context"
	"errors"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
)

// SeedUsers is how many users a new database is filled with.
const SeedUsers = 10_000

// ServiceContext holds what the handlers share.
type ServiceContext struct {
	Config   config.Config
	Store    *model.Store
	Users    *model.Users
	Sessions *cache.Cache[string, Session]
}

// NewServiceContext opens the database and the caches.
func NewServiceContext(c config.Config) (*ServiceContext, error) {
	path := c.Database
	if path == "" {
		path = defaultDatabase()
	}
	store, err := model.OpenStore(path, SeedUsers)
	if err != nil {
		return nil, err
	}
	users, err := model.NewUsers(store, cache.Options[int64, model.User]{
		Name:   "users",
		Limit:  c.Users.Limit,
		Expire: c.Users.Expire,
		Jitter: c.Users.Jitter,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	sessions, err := newSessions(c.Sessions)
	if err != nil {
		return nil, errors.Join(err, users.Close(context.Background()), store.Close())
	}
	return &ServiceContext{Config: c, Store: store, Users: users, Sessions: sessions}, nil
}

// Close closes the caches and then the database: a load that is under way in a
// cache still reads it.
func (s *ServiceContext) Close(ctx context.Context) error {
	return errors.Join(s.Users.Close(ctx), s.Sessions.Close(ctx), s.Store.Close())
}
