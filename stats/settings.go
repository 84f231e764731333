package stats

import (
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

type jsonSettings struct {
	Expire   float64 `json:"expire_seconds"`
	Idle     float64 `json:"idle_seconds"`
	Jitter   float64 `json:"jitter"`
	Timeout  float64 `json:"timeout_seconds"`
	MaxLoads int     `json:"max_loads"`
	Policy   string  `json:"policy"`
}

func newJSONSettings(s sources.Settings) jsonSettings {
	return jsonSettings{s.Expire.Seconds(), s.Idle.Seconds(), s.Jitter, s.Timeout.Seconds(), s.MaxLoads, s.Policy}
}

type jsonWheelSettings struct {
	Interval float64 `json:"interval_seconds"`
	Slots    int     `json:"slots"`
	Workers  int     `json:"workers"`
	Limit    int     `json:"limit"`
}

func newJSONWheelSettings(s sources.WheelSettings) jsonWheelSettings {
	return jsonWheelSettings{s.Interval.Seconds(), s.Slots, s.Workers, s.Limit}
}

// A jsonFailure is the last error of a load, or of the store or source of a near cache.
type jsonFailure struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Text string    `json:"text"`
}

// WithErrors makes the handler show the texts of the last errors of each cache: of a load, and of
// the store and source of a near cache. Without it they have their types only, as they may have keys,
// addresses and passwords in them.
func WithErrors() HandlerOption {
	return func(h *handler) { h.errors = true }
}

// newJSONFailure returns nil for nil.
func newJSONFailure(f *sources.Failure, withText bool) *jsonFailure {
	if f == nil {
		return nil
	}
	shown := &jsonFailure{Time: f.Time.UTC(), Type: shorten(typeOf(f.Err))}
	if withText {
		shown.Text = shorten(fmt.Sprint(f.Err)) // Sprint recovers a panic of Error
	}
	return shown
}

// lastLoadError returns nil if no load has failed.
func lastLoadError(c sources.Cache[Snapshot]) *sources.Failure {
	if c.LastError == nil {
		return nil
	}
	at, err := c.LastError()
	if err == nil {
		return nil
	}
	return &sources.Failure{Time: at, Err: err}
}

// typeOf returns the type of the innermost error that err wraps, the most telling one; of several, in the
// last.
func typeOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			if all := several.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1]
			}
		}
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
