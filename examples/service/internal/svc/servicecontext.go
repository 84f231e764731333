// Package svc holds what the handlers share.
package svc

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/gozero"
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
}

// NewServiceContext makes the caches and opens the database.
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
	}, nil
}

// Close closes the database. main calls it at the end, when the server has stopped and package
// gozero has closed the caches: no request and no load runs then.
func (s *ServiceContext) Close() error { return s.Store.Close() }

// defaultDatabase returns a file in the user's cache directory, or in the
// temporary one where there is no such directory or it cannot be written.
func defaultDatabase() string {
	const dir, file = "pinwheel-example", "users.db"
	if base, err := os.UserCacheDir(); err == nil {
		if os.MkdirAll(filepath.Join(base, dir), 0o755) == nil {
			return filepath.Join(base, dir, file)
		}
	}
	return filepath.Join(os.TempDir(), dir, file)
}
