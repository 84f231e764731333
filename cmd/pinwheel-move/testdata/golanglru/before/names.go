// Package golanglru uses all of golang-lru that can move.
package golanglru

import (
	lru "github.com/hashicorp/golang-lru/v2"
)

type Names[K comparable] struct {
	byID *lru.Cache[K, map[string]int]
}

func New[K comparable](size int) (*Names[K], error) {
	c, err := lru.New[K, map[string]int](size)
	if err != nil {
		return nil, err
	}
	return &Names[K]{c}, nil
}

func Fixed() *lru.Cache[string, int] {
	c, _ := lru.New[string, int](128)
	if other, err := lru.NewWithEvict[string, int](64, nil); err == nil {
		return other
	}
	return c
}

func (n *Names[K]) Use(id K) bool {
	n.byID.Add(id, nil)
	_ = n.byID.Add(id, nil)
	if v, ok := n.byID.Get(id); ok {
		return v != nil
	}
	if _, ok := n.byID.Peek(id); ok || n.byID.Contains(id) {
		n.byID.Resize(10)
	}
	ok, _ := n.byID.ContainsOrAdd(id, nil)
	_, ok, _ = n.byID.PeekOrAdd(id, nil)
	n.byID.ContainsOrAdd(id, nil)
	defer n.byID.Purge()
	return ok && n.byID.Remove(id) && n.byID.Len() > 0
}
