package after

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Tokens caches the tokens of apps.
type Tokens struct {
	c     *cache.Cache[string, string]
	fetch func(app string) (string, error)
}

func NewTokens(fetch func(app string) (string, error)) (*Tokens, error) {
	c, err := cache.New(cache.Options[string, string]{
		Name:   "tokens",
		Limit:  10_000,
		Expire: time.Minute,
		Jitter: 0.05, // go-zero has it built in
	})
	if err != nil {
		return nil, err
	}
	return &Tokens{c, fetch}, nil
}

func (t *Tokens) Token(app string) (string, error) {
	return t.c.Take(app, func() (string, error) { return t.fetch(app) })
}

func (t *Tokens) Revoke(app string) { t.c.Del(app) }
