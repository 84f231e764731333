package collection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // but for go-zero's cache, which never ends
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/collection.(*cacheStat).statLoop"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/collection.(*TimingWheel).run"),
	)
}

const ms = time.Millisecond

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
