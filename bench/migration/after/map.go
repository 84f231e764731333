package after

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Names caches the names of users for an hour.
type Names struct {
	names *cache.Cache[int64, string]
	load  func(id int64) (string, error)
}

func NewNames(load func(id int64) (string, error)) *Names {
	names := cache.Must(cache.Options[int64, string]{
		Name:   "names",
		Limit:  100_000,
		Expire: time.Hour,
	})
	return &Names{names, load}
}

func (n *Names) Name(id int64) (string, error) {
	return n.names.Take(id, func() (string, error) { return n.load(id) })
}

func (n *Names) Forget(id int64) { n.names.Del(id) }
