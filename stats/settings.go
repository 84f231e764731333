package stats

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the options of a cache, except its limit, which is in the [Snapshot]. A zero
// field means that the option is not set.
type Settings struct {
	Expire, Idle time.Duration // default TTL; greatest time without a read
	Jitter       float64       // fraction by which TTLs are spread
	Refresh      float64       // fraction of the TTL after which a value is loaded anew
	RefreshAfter time.Duration // time after which it is
	Grace        time.Duration // how long past its deadline a value may stand in for a load
	Patience     time.Duration // how long a caller waits before a value in Grace stands in
	Timeout      time.Duration // of a load
	MaxLoads     int           // loads at once
	Negative     bool          // errors of loads are kept
	Workers      int           // calls of OnRemove at once; 0 without OnRemove
	Policy       string        // eviction policy
}

type jsonSettings struct {
	Expire   float64 `json:"expire_seconds"`
	Idle     float64 `json:"idle_seconds"`
	Jitter   float64 `json:"jitter"`
	Refresh  float64 `json:"refresh_ratio"`
	After    float64 `json:"refresh_after_seconds"`
	Grace    float64 `json:"grace_seconds"`
	Patience float64 `json:"patience_seconds"`
	Timeout  float64 `json:"timeout_seconds"`
	MaxLoads int     `json:"max_loads"`
	Negative bool    `json:"negative"`
	Workers  int     `json:"workers"`
	Policy   string  `json:"policy"`
}

func newJSONSettings(s Settings) jsonSettings {
	return jsonSettings{
		s.Expire.Seconds(), s.Idle.Seconds(), s.Jitter,
		s.Refresh, s.RefreshAfter.Seconds(), s.Grace.Seconds(), s.Patience.Seconds(),
		s.Timeout.Seconds(), s.MaxLoads, s.Negative, s.Workers, s.Policy,
	}
}

// WithErrors makes the handler also show the text of the last error of a load, and not only its
// type. The text may have in it what nobody is to see: keys, addresses, passwords.
func WithErrors() HandlerOption {
	return func(h *handler) { h.errors = true }
}

// A jsonLoadError is the last error of a load.
type jsonLoadError struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Text string    `json:"text"`
}

// newJSONLoadError returns nil if no load has failed.
func newJSONLoadError(c CacheSource, withText bool) *jsonLoadError {
	if c.LastError == nil {
		return nil
	}
	at, err := c.LastError()
	if err == nil {
		return nil
	}
	shown := &jsonLoadError{Time: at.UTC(), Type: shorten(typeOf(err))}
	if withText {
		shown.Text = shorten(fmt.Sprint(err)) // Sprint recovers a panic of Error
	}
	return shown
}

// typeOf returns the type of the innermost error that err wraps, the most telling one.
func typeOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}
