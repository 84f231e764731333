package main

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }
