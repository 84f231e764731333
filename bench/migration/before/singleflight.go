package before

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Users reads each user once, however many ask at the same time.
type Users struct {
	read  sync.Map
	group singleflight.Group
	load  func(ctx context.Context, id string) (string, error)
}

func NewUsers(load func(ctx context.Context, id string) (string, error)) *Users {
	return &Users{load: load}
}

func (u *Users) User(ctx context.Context, id string) (string, error) {
	if name, ok := u.read.Load(id); ok {
		return name.(string), nil
	}
	// Who asks first may leave, and the others still want the answer.
	all := context.WithoutCancel(ctx)
	result := u.group.DoChan(id, func() (any, error) {
		name, err := u.load(all, id)
		if err == nil {
			u.read.Store(id, name) // also after a Forget meanwhile
		}
		return name, err
	})
	select {
	case r := <-result:
		return r.Val.(string), r.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (u *Users) Forget(id string) {
	u.group.Forget(id)
	u.read.Delete(id)
}
