package snippets

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/pinwheel-cache/pinwheel/near"
)

// CertainMark is from docs/certain.md.
func CertainMark(ctx context.Context, w http.ResponseWriter, tx *sql.Tx, users *near.Cache[int64, User], id int64) error {
	if err := tx.Commit(); err != nil {
		return err
	}
	if err := users.Del(ctx, id); err != nil {
		return err
	}
	mark, _ := users.Mark(ctx) // with an error it is UnknownMark, which is right everywhere, and costs a read
	http.SetCookie(w, &http.Cookie{Name: "since", Value: string(mark)})
	return nil
}

// CertainRevoke is from docs/certain.md.
func CertainRevoke(ctx context.Context, sessions *near.Cache[string, User], token string) error {
	if err := sessions.Revoke(ctx, token); err != nil {
		return err // not known: call it again
	}
	// No instance accepts the token any more.
	return nil
}
