package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A session is what a Log does from one connection to the next. Nothing of one is of use in the
// next: changes between them are not in the stream.
type session struct {
	log    *Log
	flavor flavor
	db     *sql.DB
	conn   *sql.Conn // for questions
	stream *stream
	gate   *gate

	last    place  // of the questions
	vouch   *reply // what is vouched for when the stream has reached it
	vouched bool
}

// A reply is the answer to a question.
type reply struct {
	asked   time.Time
	visible place // what is before it can be read, and nothing else was acknowledged before asked
}

// begin connects, and begins to read the log.
func (l *Log) begin(ctx context.Context) (*session, error) {
	db, conn, encrypted, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{log: l, db: db, conn: conn}
	if err := s.start(ctx, encrypted); err != nil {
		conn.Close() // or the connection would outlive db
		db.Close()
		return nil, err
	}
	return s, nil
}

// start begins the stream where everything can be read, and reads the layouts after that: whatever
// alters a table later, or did so since, is in the stream, and ends the session before anything is
// vouched for.
func (s *session) start(ctx context.Context, encrypted bool) (err error) {
	if s.flavor, err = s.log.checkServer(ctx, s.conn); err != nil {
		return err
	}
	begin, _, err := s.flavor.ask(ctx, s.conn, newLock()) // which nobody holds
	if err != nil {
		return fmt.Errorf("near/mysql: asking what can be read: %w", err)
	}
	layouts, err := s.log.layouts(ctx, s.conn)
	if err != nil {
		return err
	}
	s.last, s.gate = begin, newGate(begin, s.log.options.MaxKeys)
	known, ok := begin.(position)
	if ok {
		begin = known.start(s.gate)
	}
	s.stream, err = startStream(ctx, s.log.config, encrypted, s.flavor, begin, &reader{layouts: layouts, gate: s.gate, end: begin, known: known})
	if err != nil {
		return grant(ctx, s.conn, err) // the user may connect, as it has asked
	}
	return nil
}

func (s *session) close() {
	s.stream.close()
	s.conn.Close()
	s.db.Close()
}

// tell tells the watchers of changes until something fails.
//
// A change is told when it can be read. A moment is vouched for when the stream has reached what
// could be read after that moment: all that was acknowledged before it can be read then.
func (s *session) tell(ctx context.Context) error {
	s.log.hub.Tell(func(w near.Watcher) { w.ChangedAll() })
	due, pause := time.Now(), time.Millisecond
	for {
		if s.gate.holds() > 0 || !time.Now().Before(due) {
			r, err := s.ask(ctx)
			if err != nil {
				return err
			}
			s.open(r.visible)
			if s.vouch == nil || s.gate.waits(s.vouch.visible) {
				s.vouch, due = r, r.asked.Add(s.log.hub.MaxLag()/3)
			}
		}
		s.settle()
		next := time.Until(due)
		if s.vouch != nil || s.gate.holds() > 0 {
			next, pause = pause, min(2*pause, maxGatePause)
		} else {
			pause = time.Millisecond
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-s.stream.ended:
			s.stream.ended <- err // for close
			return err
		case <-s.gate.wake:
		case <-time.After(next):
		}
	}
}

// settle vouches for the moment of a question whose place the stream has reached.
func (s *session) settle() {
	if s.vouch == nil || !s.gate.has(s.vouch.visible) {
		return
	}
	s.open(s.vouch.visible)
	asked := s.vouch.asked
	s.log.roundTrip.Store(int64(time.Since(asked)))
	s.log.hub.Tell(func(w near.Watcher) { w.Current(asked) })
	s.vouch, s.vouched = nil, true
}

// open tells what can be read.
func (s *session) open(visible place) {
	shown := s.gate.open(visible)
	s.log.backlog.Store(int64(s.gate.holds()))
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
	asked := time.Now()
	visible, holder, err := s.flavor.ask(ctx, s.conn, s.stream.lock)
	switch {
	case err != nil:
		return nil, fmt.Errorf("near/mysql: asking what can be read: %w", err)
	case !holder.Valid || holder.Int64 != s.stream.id:
		return nil, errors.New("near/mysql: the server sends its log no more, or two connections led to two servers: want an address of the primary alone")
	case !visible.covers(s.last): // a stream may stay in the file that is gone, and say nothing
		return nil, errors.New("near/mysql: the binary log has begun anew, as by RESET MASTER")
	}
	s.last = visible
	s.log.questions.Add(1)
	return &reply{asked, visible}, nil
}
