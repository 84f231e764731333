package near

import (
	"errors"
	"time"
)

// A keptError is an error that the cache keeps for a time.
type keptError struct {
	error
	ttl time.Duration
}

// KeepError wraps an error that a load of [Local.Take] returns: the cache keeps err for the
// key for the time ttl, or until the key changes, and callers get err itself. With a ttl of
// 0 or less it is not kept.
func KeepError(err error, ttl time.Duration) error { return keptError{err, ttl} }

func (e keptError) Unwrap() error { return e.error }

// A pausedError is an error of a load that has failed, kept so that the database is not asked again
// at once. Package cache counts it as a failure.
type pausedError struct{ error }

func (e pausedError) Unwrap() error { return e.error }

func (pausedError) KeptAsPause() {}

// A getError is the error of a load by a Get, which does not fetch. A Take that has joined such a
// load begins again.
type getError struct{ error }

func (e getError) Unwrap() error { return e.error }

func isOfGet(err error) bool {
	_, is := err.(getError)
	return is
}

// A sparedError is the error of a renewal that could not read the store, and left the old value where it
// was. A caller that has joined it, as memory has lost that value, begins again.
type sparedError struct{ error }

func (e sparedError) Unwrap() error { return e.error }

// beginsAgain reports whether a Take or Fetch that has joined a load with this error begins again.
func beginsAgain(err error) bool { return isOfGet(err) || isSpared(err) }

func isSpared(err error) bool {
	_, is := err.(sparedError)
	return is
}

// A goneError is the error of a key of which a load said Gone, and which nothing keeps. A FetchMany leaves
// the key out.
type goneError struct{ error }

func (e goneError) Unwrap() error { return e.error }

func isGone(err error) bool {
	_, is := err.(goneError)
	return is
}

// errMissing is the error of a load by a Get if the store does not have the key.
var errMissing = errors.New("near: the store has nothing for the key")

// keepFor is the option Negative of the cache of a Local.
func keepFor(err error) time.Duration {
	var kept keptError
	if !isOfGet(err) && errors.As(err, &kept) {
		return kept.ttl
	}
	return 0
}

// unkept returns the error that callers get.
func unkept(err error) error {
	for {
		switch of := err.(type) {
		case keptError:
			err = of.error
		case pausedError:
			err = of.error
		case goneError:
			err = of.error
		default:
			return err
		}
	}
}
