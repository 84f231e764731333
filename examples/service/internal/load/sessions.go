package load

import (
	"strconv"
	"sync"
	"time"
)

// maxSessions is how many sessions are alive at most.
const maxSessions = 50

// sessions gives out the sessions to beat in turn. Now and then one of them is
// left for good and a new one takes its turn: the service will report the one
// that was left when its timeout is over.
type sessions struct {
	mu    sync.Mutex
	names []string
	turn  int
	made  int
	leave time.Duration // between two that are left
	left  time.Time     // when the last one was
}

// newSessions takes no more sessions than can each have three beats within the
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
