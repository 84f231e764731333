package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

var _ near.Marker = (*Changes)(nil)

// Mark returns a mark of now, for near.Local.TakeSince of all instances that poll this database.
// It begins a transaction of its own, by the pool that NewChanges was given, which must lead to the
// primary. So call it after the commit: within the transaction that writes, by another
// connection, it comes before the commit.
//
// A mark is the number of that transaction. A poll whose snapshot shows that one, or a later one,
// as ended was made after the mark. Where the log stands would not do: a commit is in
// the log before it can be read.
func (c *Changes) Mark(ctx context.Context) (near.Mark, error) {
	var number, server string
	var boot *string
	err := c.db.QueryRow(ctx, "SELECT pg_current_xact_id()::text, "+serverSQL).Scan(&number, &server, &boot)
	if err == nil && boot == nil {
		err = errNotStarted
	}
	var xid uint64
	if err == nil {
		xid, err = strconv.ParseUint(number, 10, 64)
	}
	if err != nil {
		return near.UnknownMark, fmt.Errorf("near/postgres: making a mark: %w", err)
	}
	epoch := epochOf(server + " " + *boot)
	c.marks.Heard(epoch, xid, time.Now())
	return c.marks.Mark(epoch, xid), nil
}

// Moment returns a time of this process that comes after a mark, or false if none is known yet.
func (c *Changes) Moment(mark near.Mark) (time.Time, bool) { return c.marks.Moment(mark) }

// heard records what an answer says of the transactions that have ended.
func (c *Changes) heard(a answer) {
	_, rest, _ := strings.Cut(a.snapshot, ":") // xmin:xmax:xip
	xmax, _, _ := strings.Cut(rest, ":")
	if n, err := strconv.ParseUint(xmax, 10, 64); err == nil && n > 0 {
		c.marks.Heard(epochOf(a.server), n-1, time.Now()) // the last one that has ended
	}
}

// epochOf returns a short name of a server, and of its start: numbers of transactions may go back
// with a crash, a failover or a restore.
func epochOf(server string) string {
	sum := fnv.New64a()
	sum.Write([]byte(server))
	return hex.EncodeToString(sum.Sum(nil))
}
