package main

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

func openLRU(c config) (*lincheck.Subject, func()) {
	if c.ttl > 0 {
		return nil, nil
	}
	l, err := lru.New[int, wide](c.limit)
	if err != nil {
		panic(err)
	}
	return &lincheck.Subject{
		Get:  func(key int) (int64, bool) { return narrowed(l.Get(key)) },
		Peek: func(key int) (int64, bool) { return narrowed(l.Peek(key)) },
		Set:  func(key int, value int64) { l.Add(key, widen(value, 0)) },
		Del:  l.Remove,
		GetOrSet: func(key int, value int64) (int64, bool) {
			previous, ok, _ := l.PeekOrAdd(key, widen(value, 0))
			if !ok {
				return value, false
			}
			return previous.narrow(), true
		},
		Clear: l.Purge,
	}, func() {}
}

func openExpirable(c config) (*lincheck.Subject, func()) {
	l := expirable.NewLRU[int, wide](c.limit, nil, c.ttl)
	return &lincheck.Subject{
		Get:   func(key int) (int64, bool) { return narrowed(l.Get(key)) },
		Peek:  func(key int) (int64, bool) { return narrowed(l.Peek(key)) },
		Set:   func(key int, value int64) { l.Add(key, widen(value, 0)) },
		Del:   l.Remove,
		Clear: l.Purge,
	}, func() {}
}
