package before

import (
	"time"

	"github.com/zeromicro/go-zero/core/collection"
)

// Tokens caches the tokens of apps.
type Tokens struct {
	c     *collection.Cache
	fetch func(app string) (string, error)
}

func NewTokens(fetch func(app string) (string, error)) (*Tokens, error) {
	c, err := collection.NewCache(time.Minute,
		collection.WithName("tokens"), collection.WithLimit(10_000))
	if err != nil {
		return nil, err
	}
	return &Tokens{c, fetch}, nil
}

func (t *Tokens) Token(app string) (string, error) {
	v, err := t.c.Take(app, func() (any, error) { return t.fetch(app) })
	if err != nil {
		return "", err
	}
	return v.(string), nil
}

func (t *Tokens) Revoke(app string) { t.c.Del(app) }
