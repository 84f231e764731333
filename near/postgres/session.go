package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A session is what a Log does from one connection to the next. Nothing of one is of use in the
// next: changes between them are not in the stream.
type session struct {
	log     *Log
	conn    *pgx.Conn // for questions
	stream  *stream
	catalog string // what the tables and the publication were at the start
	gate    *gate

	vouch   *reply // what is vouched for when the stream has reached it
	vouched bool
}

// A reply is the answer to a question.
type reply struct {
	asked    time.Time
	snapshot snapshot
	position uint64 // all commits that the snapshot shows are before it
}

// tell tells the watchers of changes until something fails.
//
// A change is told when a snapshot shows it. A moment is vouched for when the stream has reached
// what the log had after that moment: all commits acknowledged before it are among those that
// were received, and visible in the snapshot.
func (s *session) tell(ctx context.Context, reading chan error) error {
	first, err := s.ask(ctx)
	if err != nil {
		return err
	}
	// What was committed before the slot, and cannot be read yet, is not in the stream.
	for _, xid := range first.snapshot.open {
		s.gate.put(transaction{xid: xid, all: true})
	}
	s.log.hub.Tell(func(w near.Watcher) { w.ChangedAll() })
	due, pause, late := time.Now(), time.Millisecond, false
	for {
		if s.gate.holds() || !time.Now().Before(due) {
			r, err := s.ask(ctx)
			if err != nil {
				return err
			}
			s.open(r.snapshot)
			if s.vouch == nil {
				s.vouch = r
				late = false
				due = r.asked.Add(s.log.hub.MaxLag() / 3)
				if err := s.stream.ask(s.gate.reached()); err != nil { // also if it is there, so that an idle server says something
					return err
				}
			}
		}
		s.settle()
		if s.vouch != nil && late { // an answer asks for no other question
			if err := s.stream.ask(s.gate.reached()); err != nil {
				return err
			}
		}
		next := time.Until(due)
		if s.vouch != nil || s.gate.holds() {
			next, pause = pause, min(2*pause, maxGatePause)
		} else {
			pause = time.Millisecond
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-reading:
			reading <- err
			return err
		case <-s.gate.wake:
			late = false
		case <-time.After(next):
			late = true
		}
	}
}

// settle vouches for the moment of a question whose position the stream has reached.
func (s *session) settle() {
	reached := s.gate.reached()
	if s.vouch == nil || reached < s.vouch.position {
		return
	}
	s.open(s.vouch.snapshot)
	position, asked := pglsn(reached), s.vouch.asked
	s.log.told.Store(&position)
	s.log.roundTrip.Store(int64(time.Since(asked)))
	s.log.hub.Tell(func(w near.Watcher) { w.Current(asked) })
	s.vouch, s.vouched = nil, true
}

// open tells what a snapshot shows.
func (s *session) open(shot snapshot) {
	position := pglsn(s.gate.reached())
	shown := s.gate.open(shot)
	if shown.all || len(shown.keys) > 0 {
		s.log.told.Store(&position) // before anybody loads what was told
	}
	s.log.hub.Tell(func(w near.Watcher) {
		if shown.all {
			w.ChangedAll()
		} else if len(shown.keys) > 0 {
			w.Changed(shown.keys...)
		}
	})
}

// ask asks what can be read. It waits for MaxLag at most, but not for less than a connection takes.
func (s *session) ask(ctx context.Context) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, max(s.log.hub.MaxLag(), 250*time.Millisecond))
	defer cancel()
	r := &reply{asked: time.Now()}
	var shot, catalog string
	var standby bool
	var position int64
	err := s.conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), pg_current_snapshot()::text, (pg_current_wal_insert_lsn() - '0/0')::bigint, (`+fingerprintSQL+`)`,
		s.log.options.Publication, s.log.names()).Scan(&standby, &shot, &position, &catalog)
	switch {
	case err != nil:
		return nil, fmt.Errorf("near/postgres: asking what can be read: %w", err)
	case standby:
		return nil, errors.New("near/postgres: the server has become a standby")
	case catalog != s.catalog:
		return nil, errors.New("near/postgres: the publication, or a table of it, was altered")
	}
	s.log.questions.Add(1)
	if r.snapshot, err = parseSnapshot(shot); err != nil {
		return nil, err
	}
	s.log.backlog.Store(r.snapshot.age)
	r.position = lastRecord(uint64(position))
	return r, nil
}

// lastRecord returns the end of the last record before a position to insert at. That is after the
// header of a page, while the record may end before it.
func lastRecord(position uint64) uint64 {
	const page, header = 8192, 40
	if position%page <= header {
		return position - position%page
	}
	return position
}

// pglsn returns the text of a position.
func pglsn(position uint64) string {
	return fmt.Sprintf("%X/%X", position>>32, uint32(position))
}
