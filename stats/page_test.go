package stats_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestPageShowsEveryCache(t *testing.T) {
	var r stats.Registry
	s := stats.Snapshot{
		Hits: 3_000_000, Misses: 1_000_000, MissesExpired: 4321, Sets: 5432,
		Removals: stats.Removals{Evicted: 6543, Expired: 7654},
		Loads:    stats.Loads{OK: observed(time.Millisecond), Failed: observed(time.Hour, time.Hour), Waiters: 8765},
		Entries:  1234, Limit: 2000,
		Callbacks: stats.Callbacks{Queued: 9876, Panics: 1987},
		Expiry:    stats.Expiry{Pending: 2198, Tombstones: 3219, Lateness: observed(50 * time.Millisecond)},
	}
	r.Register("users", always(s))
	page := body(t, r.Handler(), "/")
	for _, want := range []string{
		"users", "75.0 %", "4.000 M", "3.000 M", "1.000 M (4,321)", "5,432", "6,543", "7,654",
		"1,234 / 2,000", "8,765", "≥ 34.4s", "9,876", "1,987", "2,198", "3,219",
		stats.QuantileText(s.Expiry.Lateness, 0.99),
	} {
		if !strings.Contains(page, ">"+want+"<") {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "weight") {
		t.Error("the page has a weight, but no cache is weighted")
	}
	r.Register("images", always(stats.Snapshot{Weight: 11_111, MaxWeight: 22_222}))
	page = body(t, r.Handler(), "/")
	for _, want := range []string{"images", "11,111 / 22,222", "–"} {
		if !strings.Contains(page, ">"+want+"<") {
			t.Errorf("the page with a weighted cache lacks %q", want)
		}
	}
	if strings.Contains(page, "0.0 %") {
		t.Error("the page has a hit ratio for a cache without gets")
	}
}

func TestPageOfNoCacheSaysSo(t *testing.T) {
	var r stats.Registry
	page := body(t, r.Handler(), "/")
	if !strings.Contains(page, "No cache is registered") || strings.Contains(page, "<table") {
		t.Errorf("the empty page is\n%s", page)
	}
}

func TestPageSurvivesAnyName(t *testing.T) {
	var r stats.Registry
	for _, name := range nastyNames {
		r.Register(name, always(stats.Snapshot{}))
	}
	page := body(t, r.Handler(), "/")
	if !utf8.ValidString(page) {
		t.Error("the page is not valid UTF-8")
	}
	if strings.Contains(page, "<script") {
		t.Error("a name became a script")
	}
	if got, want := strings.Count(page, `<th scope="row">`), len(nastyNames); got != want {
		t.Errorf("the page has %d rows, want %d", got, want)
	}
}

func TestNumbersOnThePage(t *testing.T) {
	counts := map[uint64]string{
		0: "0", 12: "12", 999: "999", 1000: "1,000", 1034: "1,034", 123456: "123,456", 999_999: "999,999",
		1_000_000: "1.000 M", 1_234_567: "1.235 M", 9_999_499: "9.999 M", 9_999_500: "10.00 M",
		12_345_678: "12.35 M", 99_995_000: "100.0 M", 123_456_789: "123.5 M",
		999_949_999: "999.9 M", 999_950_000: "1.000 G", 1<<64 - 1: "18.45 E",
	}
	for v, want := range counts {
		if got := stats.Count(v); got != want {
			t.Errorf("count(%d) = %q, want %q", v, got, want)
		}
	}
	if got := stats.Integer(-1234); got != "-1,234" {
		t.Errorf("integer(-1234) = %q, want -1,234", got)
	}
	var empty stats.Histogram
	if got := stats.QuantileText(empty, 0.5); got != "–" {
		t.Errorf("quantile of nothing = %q, want –", got)
	}
	var h stats.Histogram
	h.Counts[7] = 1
	if got, want := stats.QuantileText(h, 1), "2.1ms"; got != want { // 2.097152 ms
		t.Errorf("quantile = %q, want %q", got, want)
	}
}
