package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A server says that all before a place can be read.
type server struct {
	visible place
	holder  int64
}

func (server) name() string { return "" }

func (s server) ask(context.Context, *sql.Conn, string) (place, sql.NullInt64, error) {
	return s.visible, sql.NullInt64{Int64: s.holder, Valid: s.holder != 0}, nil
}

func (server) start(*replication.BinlogSyncer, place) (*replication.BinlogStreamer, error) {
	return nil, nil
}

func newSession(at position) *session {
	l := &Log{hub: near.NewHub(func(context.Context) {})}
	s := &session{log: l, flavor: server{at, 7}, stream: &stream{id: 7}, gate: newGate(at, 100), last: at}
	s.gate.order(position{"log.1", 1, 0})
	return s
}

// Catches: a moment that is vouched for before the stream has what was there then.
func TestSessionWaitsForTheStream(t *testing.T) {
	at := position{"log.1", 1, 100}
	s := newSession(at)
	s.vouch = &reply{time.Now(), at.at(200)}
	s.gate.put(change{end: at.at(199)})
	if s.settle(); s.vouched {
		t.Error("vouched too early")
	}
	s.gate.put(change{end: at.at(200)})
	if s.settle(); !s.vouched || s.vouch != nil {
		t.Error("not vouched")
	}
}

// Catches: a stream that stays in a file which is gone, and one that another server sends, or that is
// sent no more.
func TestSessionOfALogThatBeginsAnew(t *testing.T) {
	at := position{"log.2", 2, 100}
	s := newSession(at)
	for want, answer := range map[string]server{
		"has begun anew":                   {position{"log.1", 1, 900}, 7},
		"the server sends its log no more": {at, 0},
		"two servers":                      {at, 8},
	} {
		s.flavor = answer
		if _, err := s.ask(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s.flavor = server{at.at(101), 7}
	if _, err := s.ask(t.Context()); err != nil {
		t.Error(err)
	}
}
