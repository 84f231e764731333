package gozero

import (
	"database/sql"
	"errors"
	"slices"
	"time"
)

// NotFound returns a function for the option Negative of package cache. For the time
// expire it keeps the errors that mean that the database has no such row: [sql.ErrNoRows], which
// ErrNotFound of go-zero's sqlx and sqlc is, and errs, such as ErrNotFound of go-zero's mon
// and monc. It recognizes wrapped errors, and keeps no others. Conf.NotFoundExpire sets it.
//
// The function is safe for concurrent use.
func NotFound(expire time.Duration, errs ...error) func(error) time.Duration {
	errs = append([]error{sql.ErrNoRows}, errs...)
	return func(err error) time.Duration {
		if slices.ContainsFunc(errs, func(of error) bool { return errors.Is(err, of) }) {
			return expire
		}
		return 0
	}
}
