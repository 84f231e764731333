// Package golanglru has to keep golang-lru.
package golanglru

import (
	"fmt"
	"io"

	lru "github.com/hashicorp/golang-lru/v2"
)

type Conns struct {
	c *lru.Cache[string, io.Closer]
}

func NewConns() *Conns {
	// pinwheel-move: pinwheel's OnRemove runs in another goroutine, perhaps after the call returned, and gets replaced values too
	c, err := lru.NewWithEvict(64, func(_ string, conn io.Closer) { conn.Close() })
	if err != nil {
		panic(err)
	}
	return &Conns{c}
}

func (c *Conns) Keep(addr string, conn io.Closer) {
	// pinwheel-move: pinwheel's Set does not return this
	if c.c.Add(addr, conn) {
		fmt.Println("evicted one")
	}
	// pinwheel-move: pinwheel's cache has no order from old to new
	for _, key := range c.c.Keys() {
		fmt.Println(key)
	}
	// pinwheel-move: Cache.Get is not called here, and pinwheel's has another type
	get := c.c.Get
	get(addr)
	c.c.Remove(addr)
}
