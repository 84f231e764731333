package stats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

type jsonSettings struct {
	Expire   float64 `json:"expire_seconds"`
	Idle     float64 `json:"idle_seconds"`
	Jitter   float64 `json:"jitter"`
	Refresh  float64 `json:"refresh"`
	After    float64 `json:"refresh_after_seconds"`
	Grace    float64 `json:"grace_seconds"`
	Patience float64 `json:"patience_seconds"`
	Negative bool    `json:"negative"`
	Timeout  float64 `json:"timeout_seconds"`
	MaxLoads int     `json:"max_loads"`
	Workers  int     `json:"workers"`
	Bypass   bool    `json:"bypass"`
	Policy   string  `json:"policy"`

	Accept []string `json:"accept"`
}

func newJSONSettings(s sources.Settings) jsonSettings {
	return jsonSettings{
		s.Expire.Seconds(), s.Idle.Seconds(), s.Jitter, s.Refresh, s.RefreshAfter.Seconds(), s.Grace.Seconds(), s.Patience.Seconds(),
		s.Negative, s.Timeout.Seconds(), s.MaxLoads, s.Workers, s.Bypass, s.Policy, append([]string{}, s.Accept...),
	}
}

// A jsonFailure is the last error of a load, or of the store or source of a near cache.
type jsonFailure struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Text string    `json:"text"`
}

// WithErrors makes the handler show the texts of the last errors of each cache: of a load, and of
// the store and source of a near cache. Without it they have their types only, as they may have keys,
// addresses and passwords in them; but those of Timeout and of contexts always have a text.
func WithErrors() HandlerOption {
	return func(h *handler) { h.errors = true }
}

// newJSONFailure returns nil for nil.
func newJSONFailure(f *sources.Failure, withText bool) *jsonFailure {
	if f == nil {
		return nil
	}
	return &jsonFailure{Time: f.Time.UTC(), Type: shorten(typeOf(f.Err)), Text: textOf(f.Err, withText)}
}

// textOf returns the text of an error, or what may be shown to everybody: that of the end of a context, or of
// Timeout, which have no secrets.
func textOf(err error, all bool) string {
	var known interface{ WithoutKey() string }
	switch {
	case all:
		return shorten(fmt.Sprint(err)) // Sprint recovers a panic of Error
	case errors.As(err, &known):
		return known.WithoutKey()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded.Error()
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error()
	}
	return ""
}

// A jsonBadKey is a key whose loads fail or take long.
type jsonBadKey struct {
	Hash    string    `json:"hash"`
	Key     string    `json:"key"`
	Failed  int       `json:"failed"`
	Since   time.Time `json:"since"`
	Type    string    `json:"type"`
	Text    string    `json:"text"`
	Took    float64   `json:"took_seconds"`
	Running bool      `json:"running"`
}

// newJSONBadKeys returns nil if the cache does not know.
func newJSONBadKeys(of func() []sources.BadKey, withText bool) []jsonBadKey {
	if of == nil {
		return nil
	}
	keys := make([]jsonBadKey, 0) // never nil
	for _, k := range of() {
		bad := jsonBadKey{fmt.Sprintf("%016x", k.Hash), shorten(k.Key), k.Failed, k.Since.UTC(), "", "", k.Took.Seconds(), k.Running}
		if k.Err != nil {
			bad.Type, bad.Text = shorten(typeOf(k.Err)), textOf(k.Err, withText)
		}
		keys = append(keys, bad)
	}
	return keys
}

// typeOf returns the type of the innermost error that err wraps, the most telling one; of several, in the
// last. It says so if a load has panicked with that.
func typeOf(err error) string {
	panics := ""
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			if all := several.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1]
			}
		}
		if inner == nil {
			return panics + fmt.Sprintf("%T", err)
		}
		if fmt.Sprintf("%T", err) == "*cache.PanicError" {
			panics = "panic: "
		}
		err = inner
	}
}
