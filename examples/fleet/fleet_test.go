package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

// Catches: an instance that serves values older than MaxLag during a fault; a fault that breaks
// nothing; a summary that lacks a name.
func TestFleetUnderFaults(t *testing.T) {
	for _, of := range []string{"redis none", "redis kill", "redis stall", "redis cut",
		"postgres psql", "postgres kill", "postgres stall", "relay psql", "relay kill", "relay stall"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			truth, fault, _ := strings.Cut(of, " ")
			for length := 2400 * time.Millisecond; ; length *= 2 {
				s := runFleet(t, "-for", length.String(), "-truth", truth, "-fault", fault, "-json", "-max-lag", "300ms")
				if s.LongestMs > 60_000 || s.OutageReads > s.OutageMost || (s.OutageMost > 0) != (fault == "kill" && truth != "postgres") {
					t.Fatalf("a read of %v ms; %d of the database while Redis was killed, want %d at most", s.LongestMs, s.OutageReads, s.OutageMost)
				}
				if s.Truth != truth || s.StaleBeyondMaxLag != 0 || s.Violations != 0 || s.DatabaseReadsWithoutNear != s.Reads || (len(s.Faults) > 0) != (fault != "none") {
					t.Fatalf("%d reads were stale beyond MaxLag, %d by the auditors; %d reads, %d without near; faults %q", s.StaleBeyondMaxLag, s.Violations, s.Reads, s.DatabaseReadsWithoutNear, s.Faults)
				}
				// On a busy machine that may take longer.
				if s.Reads >= 500 && s.Writes >= 20 && s.DatabaseReads <= s.Reads*3/4 && (fault == "none" || fault == "psql" || s.Instances[0].Reconnects > 0) {
					return
				}
				if length > time.Minute {
					t.Fatalf("%d reads, %d writes, %d reads of the database; instance 1 lost its connection %d times", s.Reads, s.Writes, s.DatabaseReads, s.Instances[0].Reconnects)
				}
			}
		})
	}
}

// Catches: an auditor that does not find a source which leaves out changes, and an oracle that does not find changes of
// which nobody tells Redis.
func TestFoundOut(t *testing.T) {
	for name, found := range map[string]func(s summary) bool{
		"-lossy=30%":  func(s summary) bool { return s.Violations > 0 },
		"-fault=psql": func(s summary) bool { return s.StaleBeyondMaxLag > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for length := 10 * time.Second; ; length *= 2 {
				s := runFleet(t, "-for", length.String(), name, "-json", "-max-lag", "300ms")
				if found(s) {
					return
				}
				if length > 2*time.Minute {
					t.Fatalf("nothing was found in %d reads", s.Reads)
				}
			}
		})
	}
}

// Catches: a fleet that fails at a server which it has not started, or leaves its table there.
func TestGivenPostgres(t *testing.T) {
	s, err := postgrestest.Start()
	server := postgrestest.Started(t, s, err)
	if s := runFleet(t, "-for", "1s", "-truth", "postgres", "-postgres", server.URL, "-json"); s.Reads == 0 || s.StaleBeyondMaxLag > 0 {
		t.Errorf("%d reads, %d stale beyond MaxLag", s.Reads, s.StaleBeyondMaxLag)
	}
	db, err := pgx.Connect(t.Context(), server.URL)
	settle.Must(t, err)
	defer db.Close(t.Context())
	var left int
	settle.Must(t, db.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relname LIKE 'pinwheel_fleet%'").Scan(&left))
	if left > 0 {
		t.Errorf("%d tables and indexes are left", left)
	}
}

// runFleet runs the program and returns its summary.
func runFleet(t *testing.T, args ...string) (s summary) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	if errors.Is(err, redistest.ErrNoServer) || errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	settle.Must(t, err)
	t.Log(out.String())
	for _, name := range []string{`"truth"`, `"reads"`, `"stale_beyond_max_lag"`, `"staleness_ms":{"p50"`, `"p99"`, `"max"`, `"database_reads"`, `"database_reads_without_near"`} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the summary lacks %s", name)
		}
	}
	settle.Must(t, json.Unmarshal(out.Bytes(), &s))
	return s
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
		{[]string{"-rate", "0"}, "1 to 1,000,000"},
		{[]string{"-max-lag", "0s"}, "100ms to 10s"},
		{[]string{"-fault", "flood"}, "kill"},
		{[]string{"-lossy", "101%"}, "such as 1%"},
		{[]string{"-lossy", "some"}, "such as 1%"},
		{[]string{"-fault", "kill", "-redis", "127.0.0.1:1"}, "leave -redis out"},
		{[]string{"-truth", "mysql"}, "want redis, postgres or relay"},
		{[]string{"-postgres", "postgres://127.0.0.1:1"}, "-truth relay"},
		{[]string{"-truth", "postgres", "-fault", "failover"}, "has no Redis"},
		{[]string{"-truth", "postgres", "-fault", "kill", "-postgres", "postgres://127.0.0.1:1"}, "leave -postgres out"},
		{[]string{"-truth", "postgres", "-postgres", "127.0.0.1"}, "-postgres: "},
		{[]string{"-truth", "postgres", "-postgres", "postgres://127.0.0.1:1"}, "refused"},
		{[]string{"-redis", "127.0.0.1:1"}, "refused"},
		{[]string{"extra"}, "extra"},
	} {
		if err := run(t.Context(), c.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.args, err, c.says)
		}
	}
	t.Setenv("PATH", "")
	if err := run(t.Context(), nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "install") || !strings.Contains(err.Error(), "-redis") {
		t.Errorf("without redis-server: %v", err)
	}
}

// Catches: a page that asks for a number that is not served.
func TestPage(t *testing.T) {
	handler := new(fleet).handler()
	for path, want := range map[string][]string{
		"/":             {"Three instances", "numbers.json", "truths"},
		"/numbers.json": {`"staleness_ms"`, `"stale_beyond_max_lag"`, `"database_reads_without_near"`},
		"/cache/":       {"pinwheel"},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		body := w.Body.String()
		if w.Code != http.StatusOK || slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(body, part) }) {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
	for _, name := range []string{"staleness_ms.p50", "stale_beyond_max_lag", "database_reads", "database_reads_without_near", "hits_here", "hits_there", "violations", "reconnects", "lag_ms", "serving", "faults"} {
		if !strings.Contains(string(page), name) {
			t.Errorf("the page does not show %s", name)
		}
	}
}
