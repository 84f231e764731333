package redistest

import (
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// VerifyTestMain is that of goleak, for tests that use clients of Redis. It gives their
// goroutines time to end, and ignores some: rueidis leaves one for five seconds when a
// cluster has changed, and now and then, for ever, the two of a broken connection whose
// reader has ended while its writer waits; go-redis one for each pool whose server does not
// come back. Of a client that nobody has closed, the reader is found.
func VerifyTestMain(m goleak.TestingM, options ...goleak.Option) {
	settle.VerifyTestMain(m, append(options,
		goleak.IgnoreTopFunction("github.com/redis/rueidis.(*pipe)._background"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*ring).WaitForWrite"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))...)
}
