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
	Timeout      time.Duration // of a load
	MaxLoads     int           // loads at once
	Policy       string        // eviction policy
}

type jsonSettings struct {
	Expire   float64 `json:"expire_seconds"`
	Idle     float64 `json:"idle_seconds"`
	Jitter   float64 `json:"jitter"`
	Timeout  float64 `json:"timeout_seconds"`
	MaxLoads int     `json:"max_loads"`
	Policy   string  `json:"policy"`
}

func newJSONSettings(s Settings) jsonSettings {
	return jsonSettings{s.Expire.Seconds(), s.Idle.Seconds(), s.Jitter, s.Timeout.Seconds(), s.MaxLoads, s.Policy}
}

// A jsonLoadError is the last error of a load.
type jsonLoadError struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Text string    `json:"text"`
}

// WithErrors makes the handler show the text of the last error of a load of each cache, and
// not only its type. It may have keys, addresses and passwords in it.
func WithErrors() HandlerOption {
	return func(h *handler) { h.errors = true }
}

// newJSONLoadError returns nil if no load has failed.
func newJSONLoadError(c CacheSource, withError bool) *jsonLoadError {
	if c.LastError == nil {
		return nil
	}
	at, err := c.LastError()
	if err == nil {
		return nil
	}
	shown := &jsonLoadError{Time: at.UTC(), Type: shorten(typeOf(err))}
	if withError {
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
