package main

import (
	"testing"

	"github.com/pinwheel-cache/pinwheel/proof/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }
