package stats_test

import (
	"regexp"
	"slices"
	"strconv"
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

func TestPageShowsEveryWheel(t *testing.T) {
	var r stats.Registry
	w := stats.Wheel{
		Pending: 1234, Backlog: 2345, Running: 3456, Tombstones: 4567,
		Started: 5678, Removed: 6789, Fired: 7_000_000, Panics: 8901,
		Lateness: observed(time.Millisecond, time.Hour),
	}
	want := []string{
		"pending 1,234", "started 5,678", "removed 6,789", "tombstones 4,567",
		"backlog 2,345", "running 3,456", "fired 7.000 M", "panics 8,901",
		"p50 " + stats.QuantileText(w.Lateness, 0.5), "p99 ≥ 34.4s",
	}
	r.RegisterWheel("timers", always(w))
	page := body(t, r.Handler(), "/")
	var got []string
	for _, cell := range regexp.MustCompile(`<td data-title="([^"]*)"[^>]*>([^<]*)<`).FindAllStringSubmatch(page, -1) {
		got = append(got, cell[1]+" "+cell[2])
	}
	if !slices.Equal(got, want) || !strings.Contains(page, ">timers<") {
		t.Errorf("the page has %q, want %q of timers", got, want)
	}
	r.RegisterWheel("unused", always(stats.Wheel{}))
	if page := body(t, r.Handler(), "/"); strings.Count(page, ">–<") != 2 {
		t.Errorf("the page has no – for the quantiles of an unused wheel:\n%s", page)
	}
}

// A table that has nothing to show is left out, unless the page would be empty.
func TestPageHasTheTablesItNeeds(t *testing.T) {
	tests := []struct {
		name           string
		caches, wheels bool
		want           []string // of tables, headings and messages, in this order
		since          string
	}{
		{"nothing", false, false, []string{"<h1>Caches", "No cache is registered"}, "each cache was made"},
		{"caches", true, false, []string{"<h1>Caches", "<table"}, "each cache was made"},
		{"wheels", false, true, []string{"<h1>Timing wheels", "<table"}, "each timing wheel was made"},
		{"both", true, true, []string{"<h1>Caches", "<table", "<h2>Timing wheels", "<table"},
			"each cache and timing wheel was made"},
	}
	parts := regexp.MustCompile(`<h\d>[^<]*|<table|No [a-z ]* is registered`)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r stats.Registry
			if test.caches {
				r.Register("users", always(stats.Snapshot{}))
			}
			if test.wheels {
				r.RegisterWheel("users", always(stats.Wheel{}))
			}
			page := body(t, r.Handler(), "/")
			if got := parts.FindAllString(page, -1); !slices.Equal(got, test.want) {
				t.Errorf("the page has %q, want %q", got, test.want)
			}
			if !strings.Contains(page, "Totals since "+test.since) {
				t.Errorf("the page does not say %q", test.since)
			}
		})
	}
}

// The headings of each table are over as many columns as there are cells, which
// carry the titles of their columns and groups for narrow screens.
func TestHeadingsFitTheCells(t *testing.T) {
	var r stats.Registry
	r.Register("users", always(stats.Snapshot{MaxWeight: 1}))
	r.RegisterWheel("users", always(stats.Wheel{}))
	all := func(in, expression string) (found []string) {
		for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(in, -1) {
			found = append(found, match[1])
		}
		return found
	}
	tables := strings.Split(body(t, r.Handler(), "/"), "<table>")[1:]
	for i, kind := range []string{"cache", "timing wheel"} {
		table := tables[i]
		if got := all(table, `rowspan="2">([^<]*)<`); !slices.Equal(got, []string{kind}) {
			t.Errorf("the rows are %q, want %q", got, kind)
		}
		groups, columns := all(table, `colspan="\d+">([^<]*)<`), all(table, `<th scope="col"(?: class="first")?>([^<]*)<`)
		if got := all(table, `data-group="([^"]*)"`); !slices.Equal(got, groups) {
			t.Errorf("%s: the cells are in the groups %q, want %q", kind, got, groups)
		}
		if got := all(table, `data-title="([^"]*)"`); !slices.Equal(got, columns) {
			t.Errorf("%s: the cells are in the columns %q, want %q", kind, got, columns)
		}
		width := 0
		for _, span := range all(table, `colspan="(\d+)"`) {
			n, _ := strconv.Atoi(span)
			width += n
		}
		if width != len(columns) {
			t.Errorf("%s: the groups are over %d columns, want %d", kind, width, len(columns))
		}
	}
}

func TestPageSurvivesAnyName(t *testing.T) {
	var r stats.Registry
	for _, name := range nastyNames {
		r.Register(name, always(stats.Snapshot{}))
		r.RegisterWheel(name, always(stats.Wheel{}))
	}
	page := body(t, r.Handler(), "/")
	if !utf8.ValidString(page) {
		t.Error("the page is not valid UTF-8")
	}
	if strings.Contains(page, "<script") {
		t.Error("a name became a script")
	}
	if got, want := strings.Count(page, `<th scope="row">`), 2*len(nastyNames); got != want {
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
