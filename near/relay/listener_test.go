package relay

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

var zero = time.Now()

func at(n int) time.Time { return zero.Add(time.Duration(n) * time.Millisecond) }

// newListener returns a listener to "beat:RELAY:NUMBER", and what it has told, as text.
func newListener(told *[]string) *listener {
	return &listener{
		Watcher: &scribe{told},
		beatOf: func(key string) (redis.Beat, bool) {
			fields := strings.Split(key, ":")
			if fields[0] != "beat" {
				return redis.Beat{}, false
			}
			n, _ := strconv.Atoi(fields[2])
			return redis.Beat{Relay: fields[1], Number: uint64(n)}, true
		},
		give:   func(vouch) {},
		maxLag: time.Second,
	}
}

// A scribe is a watcher that writes down what it is told.
type scribe struct{ told *[]string }

func (s *scribe) write(text string)      { *s.told = append(*s.told, text) }
func (s *scribe) Changed(keys ...string) { s.write(strings.Join(keys, " ")) }
func (s *scribe) ChangedAll()            { s.write("all") }
func (s *scribe) Current(asOf time.Time) { s.write(strconv.Itoa(int(asOf.Sub(zero).Milliseconds()))) }
func (s *scribe) Lost(error)             { s.write("lost") }

var _ near.Watcher = (*scribe)(nil)

// Catches: a moment that is vouched for by beats which do not prove it; a key that is told after a
// later beat.
func TestListener(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(l *listener)
		want []string
	}{
		"two beats after the answer": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
			l.Current(at(2))
			l.Changed("beat:a:8")
			l.Changed("beat:a:9")
		}, []string{"1", "2"}},
		"one beat": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
		}, nil},
		"no answer before the first beat": {func(l *listener) {
			l.Changed("beat:a:7")
			l.Current(at(1))
			l.Changed("beat:a:8")
		}, nil},
		"beats of two relays": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
			l.Changed("beat:b:8")
		}, nil},
		"a beat that was missed": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
			l.Changed("beat:a:9")
		}, nil},
		"a beat that is told twice": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7", "beat:a:7")
		}, nil},
		"everything forgotten between": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
			l.ChangedAll()
			l.Changed("beat:a:8")
			l.Changed("beat:a:9")
		}, []string{"all"}},
		"lost between": {func(l *listener) {
			l.Current(at(1))
			l.Changed("beat:a:7")
			l.Lost(nil)
			l.Changed("beat:a:8")
		}, []string{"lost"}},
		"keys before and after beats": {func(l *listener) {
			l.Current(at(1))
			l.Changed("x", "beat:a:1", "y", "z", "beat:a:2", "w")
		}, []string{"x", "y z", "1", "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			l := newListener(&told)
			l.ChangedAll()
			c.do(l)
			if want := append([]string{"all"}, c.want...); !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

// Catches: a value that a load shares for MaxLag though it was read as of an earlier moment; one that is
// forgotten soon though it is watched.
func TestTTLAfterAGap(t *testing.T) {
	v := vouch{}.next(redis.Beat{}, at(0), time.Second, at(100))
	for _, c := range []struct {
		now       int
		item      near.Item
		wantMilli int
	}{
		{200, near.Item{State: near.Found}, 800},
		{200, near.Item{State: near.Absent, TTL: time.Minute}, 800},
		{200, near.Item{State: near.Found, TTL: time.Millisecond}, 1},
		{200, near.Item{State: near.Missing}, 0},
		{1100, near.Item{State: near.Found}, 0}, // nobody shares what began before the gap
	} {
		v.limit(&c.item, at(c.now))
		if c.item.TTL != time.Duration(c.wantMilli)*time.Millisecond {
			t.Errorf("at %d: a TTL of %v, want %d ms", c.now, c.item.TTL, c.wantMilli)
		}
	}
	if next := v.next(redis.Beat{}, at(900), time.Second, at(999)); next.since != at(100) {
		t.Error("without a gap, the values in memory are new")
	}
	if next := v.next(redis.Beat{}, at(1900), time.Second, at(2000)); next.since != at(2000) {
		t.Error("after a gap, values are old")
	}
}
