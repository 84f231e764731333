package gozero

import (
	"errors"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"go.uber.org/goleak"
)

var errFetch = errors.New("fetch failed")

func TestMain(m *testing.M) {
	const pkg = "github.com/zeromicro/go-zero/core/collection."
	redistest.VerifyTestMain(m, // but for the two goroutines of each of go-zero's caches, which never end
		goleak.IgnoreAnyFunction(pkg+"(*TimingWheel).run"),
		goleak.IgnoreAnyFunction(pkg+"(*cacheStat).statLoop"),
	)
}
