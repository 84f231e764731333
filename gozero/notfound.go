package gozero

import (
	"database/sql"
	"errors"
	"slices"
	"time"
)

// NotFound returns a Negative of package cache that keeps for a time the errors that say
// that the database has no such row: [sql.ErrNoRows], which ErrNotFound of go-zero's sqlx
// and sqlc is, and those of errs, such as ErrNotFound of go-zero's mon and monc. It keeps
// them wrapped, too, and others not at all. Conf.NotFoundExpire sets it.
//
// The function that it returns is safe for concurrent use.
func NotFound(expire time.Duration, errs ...error) func(error) time.Duration {
	errs = append([]error{sql.ErrNoRows}, errs...)
	return func(err error) time.Duration {
		if slices.ContainsFunc(errs, func(of error) bool { return errors.Is(err, of) }) {
			return expire
		}
		return 0
	}
}
