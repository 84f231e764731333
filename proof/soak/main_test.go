package main

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

func TestMain(m *testing.M) { harness.VerifyTestMain(m) }
