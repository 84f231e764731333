package postgres

import (
	"context"
	"errors"
)

// PollKeys returns the keys that a poll reads.
func PollKeys(ctx context.Context, db Querier, since string) ([]string, error) {
	a, err := ask(ctx, db, since, 1000)
	if errors.Is(err, errNotStarted) {
		var ignored any
		if err := db.QueryRow(ctx, "SELECT pinwheel.start()").Scan(&ignored); err != nil {
			return nil, err
		}
		a, err = ask(ctx, db, since, 1000)
	}
	return a.keys, err
}

// PollKeeps reports whether all changes since a snapshot are there, by a poll.
func PollKeeps(ctx context.Context, db Querier, since string) (bool, error) {
	a, err := ask(ctx, db, since, 1000)
	return !a.forget, err
}
