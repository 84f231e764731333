package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPrograms runs its tests in one folder, so that the services are built once.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	t.Run("a short run", func(t *testing.T) { shortRun(t, dir) })
	t.Run("the sides agree", func(t *testing.T) { sidesAgree(t, dir) })
}

// shortRun runs everything with small sizes.
func shortRun(t *testing.T, dir string) {
	m, err := measure(short, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range compared {
		for _, got := range m.http[s] {
			if got.requests == 0 || got.failed > 0 {
				t.Errorf("%s: %d requests, %d failed: %v", s.name, got.requests, got.failed, got.firstError)
			}
			if got.cpu <= 0 || got.memory <= 0 || got.goroutines == 0 || got.allocs <= 0 {
				t.Errorf("%s: figures are missing: CPU time %v, %d bytes, %d goroutines, %v allocations", s.name, got.cpu, got.memory, got.goroutines, got.allocs)
			}
			if got.log.access < got.requests {
				t.Errorf("%s: %d requests in the log, want at least %d", s.name, got.log.access, got.requests)
			}
		}
	}
	for name, got := range map[string]sample{"HTTP": m.http[after][0], "sessions": m.kept[after]} {
		if got.stale+got.early+got.late > 0 {
			t.Errorf("pinwheel, %s: %d stale reads, sessions gone %d times before their time, there %d times after it", name, got.stale, got.early, got.late)
		}
	}
	var text strings.Builder
	m.write(&text)
	for _, want := range []string{"| CPU time, s |", "**of these stale**", "TTL 2s: gone before", "pinwheel, LogStats: 0 lines"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, text.String())
		}
	}
}

// sidesAgree sends both services the same requests, one after another, and compares the
// answers.
func sidesAgree(t *testing.T, dir string) {
	var transcripts []string
	for _, s := range compared {
		program, err := s.build(servicePkg, dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := start(program, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		transcripts = append(transcripts, transcript(t, p.client))
		if _, err := p.stop(); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if transcripts[0] != transcripts[1] {
		t.Errorf("the services differ: with go-zero's cache\n%s\nwith pinwheel's\n%s", transcripts[0], transcripts[1])
	}
	for _, want := range []string{
		`GET /items/7: 200 {"id":"7","version":0}`,
		`GET /items/7: 404 {"id":"7","version":2,"deleted":true}`,
		`GET /sessions/9: 200 {"id":"9"}`,
		`GET /sessions/1000: 404 `,
	} {
		if !strings.Contains(transcripts[0], want+"\n") {
			t.Errorf("no answer %q in\n%s", want, transcripts[0])
		}
	}
}

// transcript returns what a service answers to a sequence of requests.
func transcript(t *testing.T, c *client) string {
	var text strings.Builder
	ask := func(method, path string) {
		status, body, err := c.send(method, path)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&text, "%s %s: %d %s\n", method, path, status, body)
	}
	for _, path := range []string{"/items/7", "/items/8"} {
		for _, method := range []string{"GET", "GET", "PUT", "GET", "GET", "DELETE", "GET", "GET", "PUT", "GET"} {
			ask(method, path)
		}
	}
	for _, query := range []string{"", "?ttl_ms=3600000", ""} {
		ask("GET", "/sessions/9")
		ask("POST", "/sessions/9/heartbeat"+query)
		ask("GET", "/sessions/9")
	}
	ask("GET", "/sessions/1000")
	return text.String()
}

// TestOneLine checks that a switched service differs in the import, and in
// nothing else.
func TestOneLine(t *testing.T) {
	for _, pkg := range []string{servicePkg, driverPkg} {
		dir, err := packageDir(pkg)
		if err != nil {
			t.Fatal(err)
		}
		name, text, err := switchImport(dir)
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		was, is := strings.Split(string(source), "\n"), strings.Split(text, "\n")
		if len(was) != len(is) {
			t.Fatalf("%s has %d lines, was %d", name, len(is), len(was))
		}
		for i := range was {
			if changed := strings.Contains(was[i], importOld); changed != (was[i] != is[i]) {
				t.Errorf("%s:%d: %q became %q", name, i+1, was[i], is[i])
			}
		}
	}
}

// A handler stands in for a service. If stale, it answers reads with the version before the
// last one; sessions live for ttl.
type handler struct {
	mu       sync.Mutex
	stale    bool
	ttl      time.Duration
	versions map[string]int
	beats    map[string]time.Time
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := strings.Split(r.URL.Path, "/")[2]
	switch {
	case r.Method == http.MethodPost:
		h.beats[id] = time.Now()
		return
	case strings.HasPrefix(r.URL.Path, "/sessions/"):
		if beat, found := h.beats[id]; !found || time.Since(beat) > h.ttl {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	case r.Method != http.MethodGet:
		h.versions[id]++
	}
	version := h.versions[id]
	if h.stale && r.Method == http.MethodGet && version > 0 {
		version--
	}
	fmt.Fprintf(w, `{"version": %d}`, version)
}

// TestJudge sends the same requests, one after another, to services that answer rightly and
// wrongly.
func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		stale                bool
		promised, ttl        time.Duration // of sessions
		stales, early, lates bool
	}{
		"right":           {promised: time.Hour, ttl: time.Hour},
		"right, they end": {promised: 1, ttl: 1},
		"stale":           {promised: time.Hour, ttl: time.Hour, stale: true, stales: true},
		"TTL too short":   {promised: time.Hour, ttl: 1, early: true},
		"TTL too long":    {promised: 1, ttl: time.Hour, lates: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&handler{stale: test.stale, ttl: test.ttl, versions: make(map[string]int), beats: make(map[string]time.Time)})
			defer server.Close()
			c := newClient(server.URL)
			defer c.close()
			p := newPlayer(c, traffic.Plan{Items: 3, TTLs: []time.Duration{test.promised}})
			for i := range 30 {
				p.do(traffic.Op{Kind: traffic.Read, ID: i % 3}, time.Now())
				p.do(traffic.Op{Kind: []traffic.Kind{traffic.Write, traffic.Remove}[i%2], ID: i % 3}, time.Now())
				p.do(traffic.Op{Kind: []traffic.Kind{traffic.Look, traffic.Beat, traffic.Look}[i%3]}, time.Now())
			}
			o := p.outcome
			if o.requests != 90 || o.failed > 0 || o.reads != 30 || o.looks != 20 {
				t.Fatalf("%d requests, %d failed, %d reads, %d looks: %v", o.requests, o.failed, o.reads, o.looks, o.firstError)
			}
			if o.stale > 0 != test.stales || o.early > 0 != test.early || o.late > 0 != test.lates {
				t.Errorf("%d stale reads, %d sessions early, %d late", o.stale, o.early, o.late)
			}
			if session := &p.judge.sessions[0]; session.early != test.early || session.late != test.lates {
				t.Errorf("the session: early %t, late %t", session.early, session.late)
			}
			if test.stales && o.oldest <= 0 {
				t.Errorf("the oldest stale read is %v old", o.oldest)
			}
		})
	}
}

// TestJudgeDoubts checks that a judge accepts what may have been right.
func TestJudgeDoubts(t *testing.T) {
	var item itemRecord
	item.acknowledge(3)
	began := time.Now()
	item.acknowledge(5)
	item.acknowledge(4) // overtaken
	for version, want := range map[int]bool{2: true, 3: false, 4: false, 5: false, 6: false} {
		if got := item.stale(version, began) > 0; got != want {
			t.Errorf("version %d, read while 5 was written, is stale: %t, want %t", version, got, want)
		}
	}
	for _, version := range []int{2, 3, 4} {
		if item.stale(version, time.Now()) <= 0 {
			t.Errorf("version %d, read after 5 was acknowledged, is not stale", version)
		}
	}

	session := sessionRecord{ttl: time.Nanosecond}
	beat := func(time.Duration) error { return nil }
	if err := session.beat(beat); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	_, late, err := session.look(func() (bool, error) { return true, session.beat(beat) })
	if late || err != nil {
		t.Errorf("late: %t, although a heartbeat came while the session was read; %v", late, err)
	}
}

// TestLog reads lines as go-zero writes them.
func TestLog(t *testing.T) {
	var l logLines
	for _, line := range []string{
		"Starting server at 127.0.0.1:1...",
		`{"level":"stat","content":"cache(items) - qpm: 2, hit_ratio: 50.0%, elements: 1, hit: 1, miss: 1"}`,
		`{"level":"stat","content":"CPU: 1m"}`,
		`{"level":"info","content":"[HTTP] 200 - GET /items/1"}`,
		`{"level":"slow","content":"[HTTP] 200 - GET /items/1 - slowcall"}`,
		`{"level":"error","content":"something"}`,
		"panic: something",
	} {
		l.add(line)
	}
	got := strconv.Itoa(l.all) + " " + strconv.Itoa(l.access) + " " + strconv.Itoa(l.errors) + " " + strconv.Itoa(len(l.stat)) + " " + l.other
	if want := "7 2 1 1 panic: something"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPlans checks that a plan is the same each time, in order, and has every kind
// of request in it.
func TestPlans(t *testing.T) {
	a, b := traffic.Load(3, 1000, 2*time.Second), traffic.Load(3, 1000, 2*time.Second)
	counts := make(map[traffic.Kind]int)
	for i, op := range a.Ops {
		if op != b.Ops[i] {
			t.Fatalf("request %d is %v and %v", i, op, b.Ops[i])
		}
		if i > 0 && op.At < a.Ops[i-1].At {
			t.Fatalf("request %d is before the last one", i)
		}
		counts[op.Kind]++
	}
	if len(a.Ops) != 2000 || len(counts) != 5 {
		t.Errorf("%d requests, %v of each kind, want 2000 of 5 kinds", len(a.Ops), counts)
	}
	kept := traffic.KeepAlive(3, 4, time.Second, time.Second, []time.Duration{time.Minute})
	beats, end := 0, time.Duration(0)
	for _, op := range kept.Ops {
		if op.Kind == traffic.Beat {
			beats++
			end = op.At
		}
	}
	if last := kept.Ops[len(kept.Ops)-1]; beats < 8 || last.Kind != traffic.Look || last.At < end+63*time.Second {
		t.Errorf("%d heartbeats, the last after %v, and the last request is %v", beats, end, last)
	}
}
