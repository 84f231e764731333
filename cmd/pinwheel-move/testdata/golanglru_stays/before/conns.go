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
	c, err := lru.NewWithEvict(64, func(_ string, conn io.Closer) { conn.Close() })
	if err != nil {
		panic(err)
	}
	return &Conns{c}
}

func (c *Conns) Keep(addr string, conn io.Closer) {
	if c.c.Add(addr, conn) {
		fmt.Println("evicted one")
	}
	for _, key := range c.c.Keys() {
		fmt.Println(key)
	}
	get := c.c.Get
	get(addr)
	c.c.Remove(addr)
}
