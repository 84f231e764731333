package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near/relay"
)

var _ relay.Log = (*Changes)(nil)

const (
	leadEvery = 500 * time.Millisecond
	idleTime  = "5s" // after which a leader that has stopped is none
)

// ID is for package relay: it tells Changes with other keys, or another Relay, apart.
func (c *Changes) ID() string {
	var all []string
	for _, t := range c.o.Tables {
		keys := slices.Sorted(slices.Values(t.Keys))
		all = append(all, fmt.Sprintf("%q %q", t.Name, keys))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(c.o.Relay + "\n" + strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Lead is for package relay: it waits until no other process with the same ID leads, by an advisory lock, and
// calls f. The lock is that of a transaction, over which f reads, so who can read leads; it works through pgbouncer. Between
// reads the transaction is idle, with no other lock and no snapshot.
func (c *Changes) Lead(ctx context.Context, f func(ctx context.Context, read relay.Read) error) error {
	sum := sha256.Sum256([]byte("pinwheel " + c.ID()))
	lock := int64(binary.BigEndian.Uint64(sum[:8]))
	for ctx.Err() == nil {
		if led, err := c.tryLead(ctx, lock, f); led || err != nil {
			return err
		}
		c.wait(ctx, leadEvery/2+rand.N(leadEvery), nil)
	}
	return context.Cause(ctx)
}

// tryLead calls f if nobody else leads.
func (c *Changes) tryLead(ctx context.Context, lock int64, f func(ctx context.Context, read relay.Read) error) (led bool, err error) {
	within, cancel := context.WithTimeout(ctx, pollTime) // a server may be gone without a word
	defer cancel()
	tx, err := c.db.BeginTx(within, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly})
	if err != nil {
		return false, explain(err)
	}
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = tx.Rollback(within) // or the connection is closed
	}()
	err = tx.QueryRow(within, "SELECT pg_try_advisory_xact_lock($1::bigint) FROM set_config('idle_in_transaction_session_timeout', $2, true)",
		pgx.QueryExecModeExec, lock, idleTime).Scan(&led)
	if err == nil && led {
		_, err = tx.Exec(within, "SAVEPOINT leads")
	}
	if err != nil || !led {
		return false, explain(err)
	}
	trimming, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { c.trim(trimming) })
	defer beside.Wait()
	defer end()
	l := &leader{c: c, tx: tx}
	beside.Go(func() { l.stayAwake(trimming) })
	return true, f(ctx, l.read)
}

// A leader reads over the transaction of its lock.
type leader struct {
	c *Changes

	mu      sync.Mutex // held while tx is used
	tx      pgx.Tx
	checked time.Time
}

// stayAwake keeps the lock while nothing is read for long, as while a relay removes all keys. A process that has stopped
// does not.
func (l *leader) stayAwake(ctx context.Context) {
	for ctx.Err() == nil {
		l.c.wait(ctx, time.Second, nil)
		l.mu.Lock()
		within, cancel := context.WithTimeout(ctx, pollTime)
		_, _ = l.tx.Exec(within, "SELECT 1", pgx.QueryExecModeExec) // the next read finds out
		cancel()
		l.mu.Unlock()
	}
}

// read is a relay.Read. What writes has another transaction: this one must get no number, or nobody would be told of
// what has begun after it.
func (l *leader) read(ctx context.Context, since string) (relay.Batch, error) {
	b, err := begun(ctx, l.c.db, func() (batch, error) { return l.poll(ctx, since) })
	if err != nil {
		return relay.Batch{}, explain(err)
	}
	return l.c.batchOf(b), nil
}

// poll polls, and now and then checks that the triggers are there. It lets go of the locks on tables, for which
// administrators and then all writers may wait.
func (l *leader) poll(ctx context.Context, since string) (batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := poll(ctx, l.tx, parsePosition(since))
	if err == nil && (b.all || time.Since(l.checked) > checkEvery) {
		if err := l.c.check(ctx, l.tx); err != nil {
			return batch{}, err
		}
		l.checked = time.Now()
	}
	if err == nil || errors.Is(err, errNoLife) {
		if _, failed := l.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT leads"); failed != nil {
			return batch{}, failed
		}
	}
	return b, err
}

// batchOf returns what a relay is to remove.
func (c *Changes) batchOf(b batch) relay.Batch {
	of := relay.Batch{Position: b.at.String(), Keys: c.covered(b.keys), Prefixes: b.prefixes}
	if b.all {
		of.Keys, of.Prefixes = nil, nil
		for _, k := range c.keys {
			of.Prefixes = append(of.Prefixes, k.prefix())
		}
		slices.Sort(of.Prefixes)
		of.Prefixes = slices.Compact(of.Prefixes)
	}
	return of
}

func (p position) String() string { return p.life + "|" + p.snapshot }

// parsePosition returns the zero position for a text that is none.
func parsePosition(text string) position {
	life, snapshot, _ := strings.Cut(text, "|")
	if _, _, err := bounds(snapshot); err != nil {
		return position{}
	}
	return position{life, snapshot}
}
