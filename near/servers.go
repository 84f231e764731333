package near

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// servers has a breaker for each server of a store.
type servers struct {
	number func(text string) int // Sharded.Server; nil: there is one server

	mu       sync.Mutex
	breakers map[int]*breaker
}

func (s *servers) init(store Store) {
	s.breakers = map[int]*breaker{}
	if of, ok := store.(Sharded); ok {
		s.number = of.Server
	}
}

// breaker returns the breaker of the server that has a key.
func (s *servers) breaker(text string) *breaker {
	number := 0
	if s.number != nil {
		number = s.number(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.breakers[number]
	if b == nil {
		b = &breaker{probing: make(chan struct{}, 1)}
		s.breakers[number] = b
	}
	return b
}

// wait waits until no probe is under way. The cache is closed, so none will be.
func (s *servers) wait(ctx context.Context) error {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.breakers))
	s.mu.Unlock()
	for _, b := range all { // a probe needs mu to end
		select {
		case b.probing <- struct{}{}:
			<-b.probing
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// eachServer calls f concurrently for each server, with the part of all whose keys it has.
func eachServer[T any](s *servers, all []T, text func(T) string, f func(of []T)) {
	if s.number == nil || len(all) < 2 {
		if len(all) > 0 {
			f(all)
		}
		return
	}
	parts := map[int][]T{}
	for _, one := range all {
		number := s.number(text(one))
		parts[number] = append(parts[number], one)
	}
	each(slices.Collect(maps.Values(parts)), f)
}

// each calls f for all concurrently, so that calls of the store share round trips.
func each[T any](all []T, f func(T)) {
	if len(all) == 1 {
		f(all[0])
		return
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for _, one := range all {
		calls.Go(func() { f(one) })
	}
}
