package gozero

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	const pkg = "github.com/zeromicro/go-zero/core/collection."
	harness.VerifyTestMain(m, // but for the two goroutines of each of go-zero's caches, which never end
		goleak.IgnoreAnyFunction(pkg+"(*TimingWheel).run"),
		goleak.IgnoreAnyFunction(pkg+"(*cacheStat).statLoop"),
	)
}
