package load

import (
	"strconv"
	"sync"
	"time"
)

// maxSessions is the most live sessions.
const maxSessions = 50

// sessions returns the sessions to beat in turn. Now and then it abandons one and
// starts a new one in its turn: the service reports the abandoned one when its timeout
// has passed.
type sessions struct {
	mu    sync.Mutex
	names []string
	turn  int
	made  int
	leave time.Duration // time between two that are abandoned
	left  time.Time     // when the last one was abandoned
}

// newSessions limits the sessions so that each can have three beats within the
// timeout, as a careful client would send.
func newSessions(c Config) *sessions {
	beats := float64(c.Rate) * beatShare / 100 * c.Timeout.Seconds()
	s := &sessions{
		names: make([]string, max(1, min(maxSessions, int(beats/3)))),
		leave: c.Timeout / 6,
		left:  time.Now(),
	}
	for i := range s.names {
		s.names[i] = s.newName()
	}
	return s
}

// next returns the session to beat now.
func (s *sessions) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = (s.turn + 1) % len(s.names)
	if now := time.Now(); now.Sub(s.left) >= s.leave {
		s.left = now
		s.names[s.turn] = s.newName()
	}
	return s.names[s.turn]
}

func (s *sessions) newName() string {
	s.made++
	return "load-" + strconv.Itoa(s.made)
}
