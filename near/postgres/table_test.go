package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Catches: a key that is read as another one; one that SQL would run.
func TestParseKey(t *testing.T) {
	for text, want := range map[string]struct{ prefix, of string }{
		"user:{id}":         {"user:", `'user:' || OLD."id"::text`},
		"a{b}c{d}":          {"a", `'a' || OLD."b"::text || 'c' || OLD."d"::text`},
		"all":               {"all", `'all'`},
		"{{{id}}}x":         {"{", `'{' || OLD."id"::text || '}x'`},
		`it's\{a"b}`:        {`it's\`, `E'it''s\\' || OLD."a""b"::text`},
		"u{Name}{x y}":      {"u", `'u' || OLD."Name"::text || OLD."x y"::text`},
		"$pinwheel$:{$f$}":  {"$pinwheel$:", `'$pinwheel$:' || OLD."$f$"::text`},
		"cache:user:id:{i}": {"cache:user:id:", `'cache:user:id:' || OLD."i"::text`},
	} {
		k, err := parseKey(text)
		if err != nil || k.prefix() != want.prefix || k.of("OLD") != want.of {
			t.Errorf("%q: %+v, %v, want %+v", text, k, err, want)
		}
	}
	for _, text := range []string{"", "{id}", "a{", "a}", "a{}", "a{b", "a{b{c}}", "a}b{c}"} {
		if k, err := parseKey(text); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %+v, %v", text, k, err)
		}
	}
}

// Catches: tables that SQL or NewChanges takes, and that it cannot watch.
func TestBadTables(t *testing.T) {
	for says, tables := range map[string][]Table{
		"no table":      nil,
		"at least one":  {{Name: "t"}},
		"want a name":   {{Keys: []string{"a"}}},
		"its schema":    {{Name: "a.b.c", Keys: []string{"a"}}},
		"twice":         {{Name: "t", Keys: []string{"a"}}, {Name: "u", Keys: []string{"a"}}, {Name: "t", Keys: []string{"b"}}},
		"NUL":           {{Name: "t", Keys: []string{"a\x00"}}},
		"in braces":     {{Name: "t", Keys: []string{"a{"}}},
		"pool is nil":   {{Name: "t", Keys: []string{"a"}}},
		"at its beginn": {{Name: "t", Keys: []string{"{a}"}}},
	} {
		_, err := NewChanges(nil, ChangesOptions{Tables: tables, Keep: time.Second})
		if !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "Keep is 1s: want") {
			t.Errorf("%q: %v", says, err)
		}
		if says == "pool is nil" {
			continue
		}
		func() {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, says) {
					t.Errorf("SQL: %q, want %q", p, says)
				}
			}()
			SQL(tables...)
		}()
	}
}

// Catches: a position from which a poll seems to go on, though changes may be missing.
func TestMissed(t *testing.T) {
	was := position{"a", "10:20:10,15"}
	for _, c := range []struct {
		since, now position
		low        string
		want       bool
	}{
		{was, position{"a", "20:30:"}, "10", false},
		{was, was, "0", false},
		{position{}, was, "0", true},
		{was, position{"b", "20:30:"}, "10", true},
		{was, position{"a", "20:30:"}, "11", true},
		{was, position{"a", "10:19:"}, "0", true},
		{was, position{"a", "9:20:"}, "0", true},
	} {
		if got, err := c.since.missed(c.now, c.low); got != c.want || err != nil {
			t.Errorf("from %v to %v, low %s: %t, %v", c.since, c.now, c.low, got, err)
		}
	}
	for _, bad := range []string{"", "1:2", "x:2:", "1:y:"} {
		if _, err := was.missed(position{"a", bad}, "0"); err == nil {
			t.Errorf("the snapshot %q is read", bad)
		}
	}
	if !slices.Equal(mustKey("a{b}{c}").columns(), []string{"b", "c"}) {
		t.Error("columns")
	}
}

func mustKey(text string) key {
	k, _ := parseKey(text)
	return k
}
