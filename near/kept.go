package near

import (
	"errors"
	"time"
)

// A keptError is an error of a load that is to be kept.
type keptError struct {
	error
	ttl time.Duration
}

// KeepError returns an error for a load of [Local.Take] to return: err, which callers get
// as it is, is kept for the key for a time, or until the key changes. A time of 0 or less
// keeps nothing.
func KeepError(err error, ttl time.Duration) error { return keptError{err, ttl} }

func (e keptError) Unwrap() error { return e.error }

// keepFor is what a cache is to keep of errors.
func keepFor(err error) time.Duration {
	var kept keptError
	if errors.As(err, &kept) {
		return kept.ttl
	}
	return 0
}

// unkept returns an error as callers get it.
func unkept(err error) error {
	if kept, ok := err.(keptError); ok {
		return kept.error
	}
	return err
}
