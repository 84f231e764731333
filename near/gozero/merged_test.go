package gozero

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A script is a watcher that keeps what it is told.
type script []string

func (s *script) Changed(keys ...string)   { *s = append(*s, fmt.Sprint("changed ", keys)) }
func (s *script) ChangedAll()              { *s = append(*s, "all") }
func (s *script) Current(asOf time.Time)   { *s = append(*s, fmt.Sprint("current ", asOf.Unix())) }
func (s *script) Lost(error)               { *s = append(*s, "lost") }
func (s *script) MaxLag() time.Duration    { return 7 * time.Second }
func (s *script) wrote(err error)          { *s = append(*s, "log: "+err.Error()) }
func (s *script) told(f func()) (n script) { *s = nil; f(); return *s }

func (s *script) ChangedIf(changed func(string) bool) {
	for _, key := range []string{"a", "b"} {
		if changed(key) {
			*s = append(*s, "changed if "+key)
		}
	}
}

func (s *script) Except(untold func(string) bool) {
	for _, key := range []string{"a", "b"} {
		if untold(key) {
			*s = append(*s, "except "+key)
		}
	}
}

// TestMerged checks that several sources together vouch only for what all of them vouch for
// that vouch, and that the keys of the others are forgotten, and not covered.
func TestMerged(t *testing.T) {
	var s script
	var coversA, coversB atomic.Bool
	m := &merged{to: &s, onLost: s.wrote, parts: []part{
		{has: func(key string) bool { return key == "a" }, covered: &coversA},
		{has: func(key string) bool { return key == "b" }, covered: &coversB},
	}}
	a, b := member{m, 0}, member{m, 1}
	if a.MaxLag() != 7*time.Second {
		t.Errorf("MaxLag %v", a.MaxLag())
	}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	gone := errors.New("gone")
	for i, step := range []struct {
		do     func()
		covers string
		want   []string
	}{
		{func() { b.Lost(gone); b.Lost(gone) }, "", []string{"log: gone", "lost", "lost"}}, // it was never reached
		{func() { a.Current(at(1)) }, "", nil},
		{func() { a.ChangedAll() }, "", []string{"all"}},
		{func() { a.Current(at(1)) }, "a", []string{"current 1"}}, // b has not connected
		{func() { a.Changed("k") }, "a", []string{"changed [k]"}},
		{func() { b.ChangedAll() }, "a", nil}, // memory has none of its keys
		{func() { b.Current(at(3)) }, "ab", []string{"current 1"}},
		{func() { a.Current(at(2)) }, "ab", []string{"current 2"}},
		{func() { near.Except(b, func(string) bool { return true }) }, "ab", []string{"except b"}},
		{func() { near.Except(a, func(string) bool { return true }) }, "ab", []string{"except a", "except b"}},
		{func() { near.Except(b, nil) }, "ab", []string{"except a"}},
		{func() { a.Current(at(6)) }, "ab", []string{"current 3"}},
		{func() { b.ChangedAll() }, "ab", []string{"changed if b"}},               // a FLUSHALL
		{func() { a.Current(at(7)) }, "a", []string{"changed if b", "current 7"}}, // b is silent
		{func() { b.Current(at(6)) }, "ab", []string{"current 6"}},
		{func() { b.Lost(gone) }, "a", []string{"log: gone", "changed if b"}},
		{func() { b.Lost(gone); a.Current(at(10)); b.Current(at(11)) }, "a", []string{"current 10"}},
		{func() { a.Lost(gone); a.Current(at(12)) }, "", []string{"log: gone", "changed if a", "lost"}},
		{func() { b.ChangedAll(); b.Current(at(13)) }, "b", []string{"all", "current 13"}},
		{func() { a.ChangedAll(); a.Current(at(14)) }, "ab", []string{"current 13"}},
	} {
		got := s.told(step.do)
		covers := ""
		if coversA.Load() {
			covers += "a"
		}
		if coversB.Load() {
			covers += "b"
		}
		if !slices.Equal(got, step.want) || covers != step.covers {
			t.Errorf("step %d: told %q, covers %q; want %q, %q", i, got, covers, step.want, step.covers)
		}
	}
}
