// Package gozero uses what go-zero's cache and its drop-in have in common.
package gozero

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

type Rows struct{ c *collection.Cache }

func New() (*Rows, error) {
	c, err := collection.NewCache(time.Minute, collection.WithLimit(100), collection.WithName("rows"))
	return &Rows{c}, err
}

func (r *Rows) Row(id string) (any, error) {
	r.c.SetWithExpire(id, 1, time.Hour)
	r.c.Del(id)
	return r.c.Take(id, func() (any, error) { return 2, nil })
}
