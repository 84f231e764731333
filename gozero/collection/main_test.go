package collection_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // but for go-zero's cache, which never ends
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/collection.(*cacheStat).statLoop"),
		goleak.IgnoreAnyFunction("github.com/zeromicro/go-zero/core/collection.(*TimingWheel).run"),
	)
}
