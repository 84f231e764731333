package before

import (
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

// Assets keeps 64 MiB of files.
type Assets struct {
	c *ristretto.Cache[string, []byte]
}

func NewAssets() (*Assets, error) {
	c, err := ristretto.NewCache(&ristretto.Config[string, []byte]{
		NumCounters: 100_000, // ten times the files
		MaxCost:     64 << 20,
		BufferItems: 64,
		Metrics:     true,
	})
	if err != nil {
		return nil, err
	}
	return &Assets{c}, nil
}

func (a *Assets) Put(path string, body []byte) {
	a.c.SetWithTTL(path, body, int64(len(body)), time.Hour)
	a.c.Wait() // or the next Get may not find it
}

func (a *Assets) Asset(path string) ([]byte, bool) { return a.c.Get(path) }

func (a *Assets) Remove(path string) { a.c.Del(path) }

func (a *Assets) HitRatio() float64 { return a.c.Metrics.Ratio() }

func (a *Assets) Close() { a.c.Close() }
