package gozero_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pinwheel-cache/pinwheel/gozero"
)

// TestMustRegister checks that several calls are as one, and register what NewCollector returns.
func TestMustRegister(t *testing.T) {
	gozero.MustRegister()
	gozero.MustRegister()
	if err := prometheus.Register(gozero.NewCollector()); !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		t.Errorf("one more collector: %v", err)
	}
}
