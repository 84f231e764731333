package harness

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that end by themselves may take, on a busy machine. goleak
// alone waits for less than half a second.
const patience = time.Minute

// VerifyTestMain is that of goleak, and gives goroutines time to end.
func VerifyTestMain(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(settling{m, options}, options...)
}

type settling struct {
	m       *testing.M
	options []goleak.Option
}

func (s settling) Run() int {
	status := s.m.Run()
	if status == 0 {
		settle(s.options)
	}
	return status
}

// VerifyNone is that of goleak, and gives goroutines time to end.
func VerifyNone(t testing.TB, options ...goleak.Option) {
	t.Helper()
	settle(options)
	goleak.VerifyNone(t, options...)
}

func settle(options []goleak.Option) {
	for end := time.Now().Add(patience); goleak.Find(options...) != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
