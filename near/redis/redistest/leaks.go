package redistest

import (
	"time"

	"go.uber.org/goleak"
)

// leakTime is how long goroutines that end by themselves may take, on a busy machine.
const leakTime = time.Minute

// VerifyTestMain is that of goleak, for tests that use clients of Redis. It gives their
// goroutines time to end, and ignores some: rueidis leaves one for five seconds when a
// cluster has changed, and now and then, for ever, the two of a broken connection whose
// reader has ended while its writer waits; go-redis one for each pool whose server does not
// come back. Of a client that nobody has closed, the reader is found.
func VerifyTestMain(m goleak.TestingM, options ...goleak.Option) {
	options = append(options,
		goleak.IgnoreTopFunction("github.com/redis/rueidis.(*pipe)._background"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*ring).WaitForWrite"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
	goleak.VerifyTestMain(waiting{m, options}, options...)
}

// A waiting is a TestingM that gives goroutines time to end.
type waiting struct {
	m       goleak.TestingM
	options []goleak.Option
}

// Run runs the tests and, unless one failed, waits for goroutines that end by themselves.
func (w waiting) Run() int {
	code := w.m.Run()
	for end := time.Now().Add(leakTime); code == 0 && goleak.Find(w.options...) != nil && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	return code
}
