package gozero

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	const pkg = "github.com/zeromicro/go-zero/core/collection."
	goleak.VerifyTestMain(m, // but for the two goroutines of each of go-zero's caches, which never end
		goleak.IgnoreAnyFunction(pkg+"(*TimingWheel).run"),
		goleak.IgnoreAnyFunction(pkg+"(*cacheStat).statLoop"),
	)
}
