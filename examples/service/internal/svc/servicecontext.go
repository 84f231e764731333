// Package svc holds what the handlers share.
package svc

import (
	"context"
	"errors"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// SeedUsers is the number of users in a new database.
const SeedUsers = 10_000

// ServiceContext holds what the handlers share.
type ServiceContext struct {
	Config    config.Config
	Store     *model.Store
	Users     *model.Users
	UserCache *cache.Cache[int64, model.User] // in front of Users; here for its statistics
	Sessions  *cache.Cache[string, Session]
	Reminders *timingwheel.TimingWheel[string, string]
}

// NewServiceContext makes the caches and the timing wheel, and opens the database.
func NewServiceContext(c config.Config) (*ServiceContext, error) {
	path := c.Database
	if path == "" {
		path = defaultDatabase()
	}
	if c.Users.Snapshot == "" {
		c.Users.Snapshot = path + ".cache" // one for each database
	}
	sessions, err := newSessions(c.Sessions)
	if err != nil {
		return nil, err
	}
	reminders, err := newReminders(c.Reminders)
	if err != nil {
		return nil, err
	}
	store, err := model.OpenStore(path, SeedUsers)
	if err != nil {
		return nil, err
	}
	users, err := gozero.NewCache[int64, model.User](c.Users)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.Delay = c.DatabaseDelay
	return &ServiceContext{
		Config:    c,
		Store:     store,
		Users:     model.NewUsers(store, users),
		UserCache: users,
		Sessions:  sessions,
		Reminders: reminders,
	}, nil
}

// Close closes the timing wheel and the database, and waits for running reminders. main
// calls it at the end, when the server has stopped and package gozero has closed the
// caches: no request and no load runs then.
func (s *ServiceContext) Close(ctx context.Context) error {
	if n := s.Reminders.Len(); n > 0 {
		logx.Infof("reminders lost, as they were not due yet: %d", n)
	}
	return errors.Join(s.Reminders.Shutdown(ctx), s.Store.Close())
}
