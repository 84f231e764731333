package model

import (
	"context"
	"sync"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Users are the users of the database, with a cache in front.
type Users struct {
	store *Store
	cache *cache.Cache[int64, User]

	// writes makes the cache see writes in the order in which the database saw
	// them. Without it two writers of one user could write A, B to the database
	// and B, A to the cache, which would then serve A until it expires. It costs
	// nothing here: bbolt has one writer at a time anyway. With a database that
	// writes in parallel, Del after the write instead of Set: two Dels commute.
	writes sync.Mutex
}

// NewUsers returns the users of store behind a cache.
func NewUsers(store *Store, c *cache.Cache[int64, User]) *Users {
	return &Users{store: store, cache: c}
}

// Find returns a user, from the cache if it is there. If many callers ask for the
// same user at once, only one of them reads the database. What the cache does with
// ErrNotFound, and while the database is slow or down, is in its settings.
func (u *Users) Find(ctx context.Context, id int64) (User, error) {
	return u.cache.TakeCtx(ctx, id, func(ctx context.Context) (User, error) {
		return u.store.Get(ctx, id)
	})
}

// Put writes a user, to the database first and then to the cache.
//
// The order matters. With the cache first, a request that finds its entry
// evicted could, before the database is written, read the old user there and
// cache it for the whole TTL. With the database first, a load that read the old
// user began before Set, and the cache stores no load that began before a Set or
// Del of its key; a load that begins later reads the new user. And a write that
// fails leaves the cache as it is, which is right.
func (u *Users) Put(user User) error {
	u.writes.Lock()
	defer u.writes.Unlock()
	if err := u.store.Put(user); err != nil {
		return err
	}
	u.cache.Set(user.ID, user)
	return nil
}

// Delete removes a user, from the database first and then from the cache, for
// the same reason. It returns ErrNotFound if there is none.
func (u *Users) Delete(id int64) error {
	u.writes.Lock()
	defer u.writes.Unlock()
	if err := u.store.Delete(id); err != nil {
		return err
	}
	u.cache.Del(id)
	return nil
}
