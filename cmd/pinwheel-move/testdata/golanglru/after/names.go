// Package golanglru uses all of golang-lru that can move.
package golanglru

import (
	"github.com/pinwheel-cache/pinwheel/cache"
)

type Names[K comparable] struct {
	byID *cache.Cache[K, map[string]int]
}

func New[K comparable](size int) (*Names[K], error) {
	c, err := cacheOfSize[K, map[string]int](size)
	if err != nil {
		return nil, err
	}
	return &Names[K]{c}, nil
}

func Fixed() *cache.Cache[string, int] {
	c, _ := cache.New(cache.Options[string, int]{Limit: 128})
	if other, err := cache.New(cache.Options[string, int]{Limit: 64}); err == nil {
		return other
	}
	return c
}

func (n *Names[K]) Use(id K) bool {
	n.byID.Set(id, nil)
	n.byID.Set(id, nil)
	if v, ok := n.byID.Get(id); ok {
		return v != nil
	}
	if _, ok := n.byID.Peek(id); ok || cacheContains(n.byID, id) {
		n.byID.Resize(10)
	}
	_, ok := n.byID.GetOrSet(id, nil)
	_, ok = n.byID.GetOrSet(id, nil)
	n.byID.GetOrSet(id, nil)
	defer n.byID.Clear()
	return ok && n.byID.Del(id) && n.byID.Len() > 0
}
