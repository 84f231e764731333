package gozero_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/zeromicro/go-zero/core/logx"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestMain(m *testing.M) {
	// go-zero sets up its log once, so this must come before the first server of a test.
	logx.MustSetup(logx.LogConf{Mode: "console", Stat: true})
	goleak.VerifyTestMain(m, // except what go-zero starts on import and for its middlewares
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/proc.init.1.func1"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/stat.init.1.func1"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/executors.(*PeriodicalExecutor).backgroundFlush.func1"),
	)
}

// closed closes a cache at the end of a test.
func closed[K comparable, V any](t testing.TB, c *cache.Cache[K, V]) *cache.Cache[K, V] {
	t.Helper()
	t.Cleanup(func() { must(t, c.Close(context.Background())) })
	return c
}

// alone waits until caches of other tests that were not closed are collected.
func alone(t *testing.T) {
	t.Helper()
	if !settle.Collected(func() bool { return len(stats.Caches()) == 0 }) {
		t.Fatalf("there are caches: %v", names())
	}
}

// A record is a line of go-zero's log.
type record struct{ Level, Content string }

// A journal collects what logx writes.
type journal struct {
	t   *testing.T
	mu  sync.Mutex
	buf bytes.Buffer
}

// newJournal has logx write to a journal until the test ends.
func newJournal(t *testing.T) *journal {
	t.Helper()
	j := &journal{t: t}
	before := logx.Reset()
	logx.SetWriter(logx.NewWriter(j))
	t.Cleanup(func() { logx.SetWriter(before) })
	return j
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(line)
}

// take returns the lines written since it was last called.
func (j *journal) take() (lines []record) {
	j.t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.buf.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			j.t.Fatalf("%v in %q", err, line)
		}
		lines = append(lines, r)
	}
	j.buf.Reset()
	return lines
}

var must = settle.Must // ends a test with an error that it did not expect
