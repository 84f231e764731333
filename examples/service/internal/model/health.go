package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Health is the state of the database for readers. Writes always succeed: no cache could help
// with them.
type Health int32

const (
	Well  Health = iota // a read takes Delay on average
	Hangs               // a read ends with its context
	Fails               // a read fails at once, with ErrDown
)

// ErrDown is returned while the database fails.
var ErrDown = errors.New("the database is down")

// SetHealth sets the state of the database for reads that begin from now on.
func (s *Store) SetHealth(h Health) { s.health.Store(int32(h)) }

// reach waits as long as it takes to reach the database, or fails as the database does.
// If the database works, the time is random and Delay on average. Most calls wait less, and a
// few much longer: one in a hundred waits more than 4.6 times Delay.
func (s *Store) reach(ctx context.Context) error {
	var reached <-chan time.Time // never
	switch Health(s.health.Load()) {
	case Fails:
		return ErrDown
	case Well:
		if s.Delay == 0 {
			return nil
		}
		reached = time.After(time.Duration(rand.ExpFloat64() * float64(s.Delay)))
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
