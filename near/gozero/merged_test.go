package gozero

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
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

// TestMerged checks that several sources together vouch only for what all of them vouch
// for.
func TestMerged(t *testing.T) {
	var s script
	m := &merged{to: &s, open: make([]bool, 2), asOf: make([]time.Time, 2), onLost: s.wrote}
	a, b := member{m, 0}, member{m, 1}
	if a.MaxLag() != 7*time.Second {
		t.Errorf("MaxLag %v", a.MaxLag())
	}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	gone := errors.New("gone")
	for i, step := range []struct {
		do   func()
		want []string
	}{
		{func() { a.ChangedAll(); a.Current(at(1)) }, nil}, // b has not connected
		{func() { a.Changed("k") }, []string{"changed [k]"}},
		{func() { b.ChangedAll() }, []string{"all"}},
		{func() { b.Current(at(3)) }, []string{"current 1"}},
		{func() { a.Current(at(2)) }, []string{"current 2"}},
		{func() { a.Current(at(9)) }, []string{"current 3"}},
		{func() { b.ChangedAll() }, []string{"all"}}, // a FLUSHALL
		{func() { b.Lost(gone) }, []string{"log: gone", "lost"}},
		{func() { b.Lost(gone); a.Current(at(10)); b.Current(at(11)) }, []string{"lost"}},
		{func() { b.ChangedAll() }, []string{"all"}},
		{func() { a.Lost(gone); a.ChangedAll(); b.Current(at(12)) }, []string{"log: gone", "lost", "all"}}, // a has vouched for nothing since
		{func() { a.Current(at(13)) }, []string{"current 12"}},
	} {
		if got := s.told(step.do); !slices.Equal(got, step.want) {
			t.Errorf("step %d: told %q, want %q", i, got, step.want)
		}
	}
}
