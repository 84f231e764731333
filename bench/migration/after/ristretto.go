package after

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Assets keeps 64 MiB of files.
type Assets struct {
	c *cache.Cache[string, []byte]
}

func NewAssets() (*Assets, error) {
	c, err := cache.New(cache.Options[string, []byte]{
		Name:      "assets",
		Expire:    time.Hour,
		MaxWeight: 64 << 20,
		Weigh:     func(_ string, body []byte) uint32 { return uint32(len(body)) },
	})
	if err != nil {
		return nil, err
	}
	return &Assets{c}, nil
}

func (a *Assets) Put(path string, body []byte) { a.c.Set(path, body) }

func (a *Assets) Asset(path string) ([]byte, bool) { return a.c.Get(path) }

func (a *Assets) Remove(path string) { a.c.Del(path) }

func (a *Assets) HitRatio() float64 { return a.c.Stats().HitRatio() }

// Close is not needed: a cache that nobody holds is collected.
func (a *Assets) Close() { a.c.Close(context.Background()) }
