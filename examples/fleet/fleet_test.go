package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

// TestFleetUnderFaults gives a slow machine more time: it has the same faults again four times
// as slowly, until enough was read.
//
// Catches: an instance that serves values older than MaxLag during a fault; a fault that breaks
// nothing; a summary that lacks a name.
func TestFleetUnderFaults(t *testing.T) {
	for _, c := range []struct {
		truth  string
		faults []string
	}{
		{"redis", []string{"none", "kill", "stall", "cut", "busy", "full", "switch"}},
		{"postgres", []string{"kill", "stall", "psql"}},
		{"postgres-log", []string{"kill", "cut", "psql"}},
		{"relay", []string{"kill", "cut", "psql", "handover"}},
	} {
		for _, fault := range c.faults {
			t.Run(c.truth+"/"+fault, func(t *testing.T) {
				t.Parallel()
				wrong := ""
				for maxLag := 300 * time.Millisecond; maxLag < 30*time.Second; maxLag *= 4 {
					if wrong = underFault(t, c.truth, fault, maxLag); wrong == "" || t.Failed() {
						return
					}
					t.Logf("with -max-lag %v: %s", maxLag, wrong)
				}
				t.Error(wrong)
			})
		}
	}
}

// underFault runs the program and returns what a slow machine can be the reason of.
func underFault(t *testing.T, truth, fault string, maxLag time.Duration) string {
	t.Helper()
	var out bytes.Buffer
	late := lateness(t.Context())
	err := run(t.Context(), []string{"-for", (8 * maxLag).String(), "-truth", truth, "-fault", fault, "-json", "-max-lag", maxLag.String()}, &out)
	if errors.Is(err, redistest.ErrNoServer) || errors.Is(err, pgtest.ErrNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		return err.Error()
	}
	t.Log(out.String())
	for _, name := range []string{`"truth":"` + truth + `"`, `"reads"`, `"stale_beyond_max_lag"`, `"staleness_ms":{"p50"`, `"p99"`, `"max"`, `"database_reads"`, `"database_reads_without_near"`} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the summary lacks %s", name)
		}
	}
	var s summary
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	worst := late()
	if s.StaleBeyondMaxLag != 0 && worst <= maxLag/8 { // near promises nothing when timers are late
		t.Errorf("%d reads were stale beyond MaxLag", s.StaleBeyondMaxLag)
	}
	if s.DatabaseReadsWithoutNear != s.Reads {
		t.Errorf("%d reads, and %d of a service without near", s.Reads, s.DatabaseReadsWithoutNear)
	}
	unreadable := fault == "kill" && truth != "redis" && truth != "relay" // where loads fail meanwhile
	broken := s.Instances[0].Reconnects+s.Instances[0].Errors > 0
	switch {
	case s.StaleBeyondMaxLag != 0:
		return fmt.Sprintf("timers are late by %v", worst)
	case s.Reads < 200 || s.Writes < 5 || s.DatabaseReads > s.Reads*3/4 && !unreadable:
		return fmt.Sprintf("%d reads, %d writes, %d reads of the database", s.Reads, s.Writes, s.DatabaseReads)
	case broken != !slices.Contains([]string{"none", "full", "psql", "handover"}, fault) || (len(s.Faults) > 0) != (fault != "none"):
		return fmt.Sprintf("instance 1 lost its connection %d times; faults %q", s.Instances[0].Reconnects, s.Faults)
	}
	return ""
}

// lateness measures how late timers of this process are, until the function that it returns
// is called, which returns the worst.
func lateness(ctx context.Context) (worst func() time.Duration) {
	const every = 5 * time.Millisecond
	ctx, stop := context.WithCancel(ctx)
	result := make(chan time.Duration, 1)
	go func() {
		late, last := time.Duration(0), time.Now()
		for ctx.Err() == nil {
			time.Sleep(every)
			now := time.Now()
			late, last = max(late, now.Sub(last)-every), now
		}
		result <- late
	}()
	return func() time.Duration {
		stop()
		return <-result
	}
}

// Catches: a version that counts as replaced only from its own acknowledgement on, though the one
// after it was told earlier.
func TestLedgerOfTwoWriters(t *testing.T) {
	l := &ledger{users: map[int][]acknowledged{}}
	for _, version := range []int{1, 3, 2} {
		l.acknowledge(1, version)
	}
	later := time.Now().Add(time.Second)
	third := l.staleness(1, 2, later)
	if first, second := l.staleness(1, 0, later), l.staleness(1, 1, later); third == 0 || second != third || first < second {
		t.Errorf("version 0 is stale by %v, 1 by %v, 2 by %v", first, second, third)
	}
	if fresh := l.staleness(1, 3, later); fresh != 0 {
		t.Errorf("the last version is stale by %v", fresh)
	}
}

// Catches: a read that counts as current because it is current now, or as stale only from the
// second next version on.
func TestLedger(t *testing.T) {
	start := time.Now()
	l := &ledger{users: map[int][]acknowledged{1: {{1, start}, {2, start.Add(time.Second)}}}}
	for _, c := range []struct {
		version int
		after   time.Duration
		want    time.Duration
	}{{0, 0, 0}, {0, 100 * time.Millisecond, 100 * time.Millisecond}, {0, 2 * time.Second, 2 * time.Second}, {1, time.Second / 2, 0}, {1, 3 * time.Second / 2, time.Second / 2}, {2, time.Hour, 0}, {3, time.Hour, 0}} {
		if got := l.staleness(1, c.version, start.Add(c.after)); got != c.want {
			t.Errorf("version %d after %v is stale by %v, want %v", c.version, c.after, got, c.want)
		}
	}
}

// Catches: quantiles that are off by more than a bucket, or forget the zeros.
func TestQuantiles(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(max(0, i-900)) * time.Millisecond)
	}
	got := h.quantiles()
	if got.P50 != 0 || math.Abs(got.P99-89) > 6 || got.Max != 99 {
		t.Errorf("%+v, want 0, 89 and 99", got)
	}
}

// Catches: a senseless flag that is accepted, and an error that does not help.
func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-json"}, "-for 15s"},
		{[]string{"-for", "-1s"}, "positive"},
		{[]string{"-fault", "flood"}, "kill"},
		{[]string{"-fault", "kill", "-redis", "127.0.0.1:1"}, "leave -redis out"},
		{[]string{"-redis", "127.0.0.1:1"}, "refused"},
		{[]string{"-truth", "oracle"}, "postgres-log"},
		{[]string{"-truth", "relay", "-fault", "full"}, "handover"},
		{[]string{"-fault", "psql"}, "with -truth redis"},
		{[]string{"-truth", "postgres", "-fault", "full"}, "psql"},
		{[]string{"-truth", "postgres", "-redis", "127.0.0.1:1"}, "-truth redis"},
		{[]string{"-postgres", "postgres://127.0.0.1:1/"}, "-truth postgres"},
		{[]string{"-truth", "postgres", "-postgres", "here"}, "postgres://user"},
		{[]string{"-truth", "postgres", "-postgres", "postgres://127.0.0.1:1/?sslmode=disable"}, "refused"},
		{[]string{"-truth", "postgres", "-postgres", "postgres://127.0.0.1:1/", "-fault", "kill"}, "leave -postgres out"},
		{[]string{"extra"}, "extra"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // accepted, it would run until then
		if err := run(ctx, c.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.args, err, c.says)
		}
		cancel()
	}
	t.Setenv("PATH", "")
	if err := run(t.Context(), nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "install") || !strings.Contains(err.Error(), "-redis") {
		t.Errorf("without redis-server: %v", err)
	}
	t.Setenv("PGBIN", t.TempDir())
	if err := run(t.Context(), []string{"-truth", "postgres"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "install") || !strings.Contains(err.Error(), "-postgres") {
		t.Errorf("without PostgreSQL: %v", err)
	}
}

// Catches: a run that leaves its database on the server of somebody else, or changes another one.
func TestServerOfSomebodyElse(t *testing.T) {
	server, err := pgtest.Start("wal_level=logical")
	pgtest.Started(t, server, err)
	for _, truth := range []string{"postgres", "postgres-log"} {
		var s summary
		for runFor := 100 * time.Millisecond; s.Reads == 0; runFor *= 2 {
			var out bytes.Buffer
			if err := run(t.Context(), []string{"-truth", truth, "-postgres", server.URL(), "-for", runFor.String(), "-json"}, &out); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out.Bytes(), &s); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var left string
	err = conn.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(datname, ' ') FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')),
		to_regclass('users'), (SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname = 'pinwheel'), (SELECT string_agg(slot_name, ' ') FROM pg_replication_slots))`).Scan(&left)
	if err != nil || left != "" {
		t.Errorf("%v; the fleet has left %q", err, left)
	}
}

// Catches: a page that asks for a number that is not served.
func TestPage(t *testing.T) {
	f := &fleet{config: config{truth: "postgres"}}
	server := httptest.NewServer(f.handler())
	defer server.Close()
	for path, want := range map[string][]string{
		"/":             {"Three instances", "numbers.json"},
		"/numbers.json": {`"truth":"postgres"`, `"staleness_ms"`, `"stale_beyond_max_lag"`, `"database_reads_without_near"`},
		"/cache/":       {"pinwheel"},
	} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(body.String(), part) }) {
			t.Errorf("%s: %d %v %s", path, response.StatusCode, err, &body)
		}
	}
	for _, name := range []string{"staleness_ms.p50", "stale_beyond_max_lag", "database_reads", "database_reads_without_near", "hits_here", "hits_there", "reconnects", "source_errors", "truth", "lag_ms", "serving", "faults"} {
		if !strings.Contains(string(page), name) {
			t.Errorf("the page does not show %s", name)
		}
	}
}
