package stats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// instance is a row of fleet.json as a foreign program reads it.
type instance struct {
	Peer, Error, Host, Program string
	Self                       bool
	Process                    struct {
		PID              int
		Version, Started string
		Findings         []struct{ Cause string }
	}
	Caches []struct {
		Name           string
		Entries, Limit int
		Findings       []struct{ Cause, Words string }
		Windows        map[string]map[string]float64
	}
}

type fleet struct {
	Error     string
	Instances []instance
}

// A network has a server for each host, reached by pipes, for fake time.
type network struct {
	*http.ServeMux
	listener pipes

	mu     sync.Mutex
	closed bool // the listener
}

func newNetwork(t *testing.T) *network {
	n := &network{ServeMux: http.NewServeMux(), listener: make(pipes, 100)}
	server := &http.Server{Handler: n}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(n.listener) }()
	t.Cleanup(func() {
		n.mu.Lock()
		n.closed = true
		close(n.listener)
		n.mu.Unlock()
		must(t, server.Close())
		<-served
	})
	return n
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "gone:") {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed { // the transport dials also for a request that has ended
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	n.listener <- server
	return client, nil
}

// options are those of a handler whose peers are at some pages of the network.
func (n *network) options(pages ...string) []stats.HandlerOption {
	peers := func(context.Context) ([]string, error) { return pages, nil }
	return []stats.HandlerOption{stats.WithPeers(peers), stats.DialPeers(n.dial)}
}

func readFleet(t *testing.T, h http.Handler, query string) (f fleet) {
	t.Helper()
	text := body(t, h, "/cache/fleet.json"+query)
	must(t, json.Unmarshal([]byte(text), &f))
	if strings.Contains(text, "secret") {
		t.Errorf("it shows a secret: %s", text)
	}
	return f
}

// ofPeer is stats.json of some version; an older one has neither a process nor numbers of time-outs.
const (
	ofPeer = `{"version":1,"program":"shop","host":"a","process":{"pid":7,"version":"v1.2.3","started":"2026-01-02T03:04:05Z","findings":[{"cause":"memory limit"}]},"peers":true,
		"caches":[{"name":"users","entries":5,"limit":9,"findings":[{"cause":"loads fail","words":"Loads fail."}],"loads":{"failed":99},
			"windows":{"1m":{"hits":1,"misses":2,"hit_ratio":0.3,"loads":4,"loads_failed":5,"loads_timed_out":6,"load_p99_seconds":7,"wait_p99_seconds":8},"5m":{"hits":99}}}],"wheels":[{"name":"w"}]}`
	ofOlder = `{"version":1,"program":"shop","host":"b","caches":[{"name":"users","entries":5,"findings":null,"windows":{"1m":{"hits":1,"loads_failed":5}}}],"wheels":[]}`
)

// TestFleet: each peer has its row, in the order of the list, with what its stats.json says or why there
// is none; and so has this process.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		say := func(text string) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
		}
		n.HandleFunc("a/cache/stats.json", func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			if user != "ops" || password != "secret" || len(r.Cookies()) > 0 || r.URL.RawQuery != "cache=users&cache=x+y" {
				t.Errorf("a peer is asked for %q by %s:%s, with %v", r.URL, user, password, r.Header)
			}
			say(ofPeer)(w, r)
		})
		n.HandleFunc("b/stats.json", say(ofOlder))
		n.HandleFunc("hangs/stats.json", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		n.HandleFunc("drips/stats.json", func(w http.ResponseWriter, r *http.Request) {
			say("{")(w, r)
			must(t, http.NewResponseController(w).Flush())
			<-r.Context().Done()
		})
		n.Handle("moves/stats.json", http.RedirectHandler("http://elsewhere/stats.json", http.StatusFound))
		n.HandleFunc("elsewhere/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a redirect is followed, with %v", r.Header) })
		n.HandleFunc("large/stats.json", say(strings.Repeat(" ", 8<<20)+ofPeer))
		n.HandleFunc("page/stats.json", say("<!doctype html>"))
		n.HandleFunc("denies/stats.json", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "the secret", http.StatusForbidden) })

		var r stats.Registry
		r.Register("users", always(stats.Snapshot{Entries: 3}))
		r.Register("orders", always(stats.Snapshot{Entries: 3}))
		h := r.Handler(n.options("http://ops:secret@a:8080/cache/?secret#secret", "http://b", "http://hangs/", "http://drips/", "http://ops:secret@moves/", "http://large/",
			"http://page/", "http://ops:secret@denies/", "http://ops:secret@gone/", "ftp://ops:secret@b/", "http:///secret", "://secret", "http://ops:sec%ret@a/", "")...)
		request := httptest.NewRequest(http.MethodGet, "/cache/fleet.json?cache=users&cache=x+y&points=61", nil)
		request.Header.Set("Cookie", "session=secret")
		began := time.Now()
		var f fleet
		text := answered(h, request).Body.String()
		must(t, json.Unmarshal([]byte(text), &f))
		if strings.Contains(text, "secret") || time.Since(began) != 2*time.Second {
			t.Errorf("after %v it shows %s", time.Since(began), text)
		}
		want := []string{"http://a:8080/cache/ ", "http://b/ ", "http://hangs/ no answer in 2 s", "http://drips/ no answer in 2 s", "http://moves/ status 302 Found", "http://large/ *http.MaxBytesError",
			"http://page/ *json.SyntaxError", "http://denies/ status 403 Forbidden", "http://gone/ connect: connection refused"}
		want = append(append(want, slices.Repeat([]string{" an address of the list is none of http or https"}, 5)...), " ")
		var got []string
		for _, i := range f.Instances {
			got = append(got, i.Peer+" "+i.Error)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the rows are\n%q, want\n%q", got, want)
		}
		a, b, self := f.Instances[0], f.Instances[1], f.Instances[len(want)-1]
		if fmt.Sprint(a) != "{http://a:8080/cache/  a shop false {7 v1.2.3 2026-01-02T03:04:05Z [{memory limit}]} [{users 5 9 [{loads fail Loads fail.}] "+
			"map[1m:map[hit_ratio:0.3 hits:1 load_p99_seconds:7 loads:4 loads_failed:5 loads_timed_out:6 misses:2 wait_p99_seconds:8]]}]}" {
			t.Errorf("a peer is %v", a)
		}
		if m := b.Caches[0].Windows["1m"]; b.Host != "b" || m["hits"] != 1 || m["loads_failed"] != 5 || m["loads_timed_out"] != 0 || b.Process.PID != 0 || b.Process.Started != "" {
			t.Errorf("a peer of an older version is %v", b)
		}
		if !self.Self || self.Host == "" || len(self.Caches) != 1 || self.Caches[0].Entries != 3 || self.Caches[0].Windows["1m"] == nil {
			t.Errorf("this process is %v", self)
		}
	})
}

// TestFleetAsksEightAtOnce: of all requests of a handler together, none of which takes longer than go-zero allows.
func TestFleetAsksEightAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var asked atomic.Int64
		n.HandleFunc("hangs/stats.json", func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			<-r.Context().Done()
		})
		var r stats.Registry
		h := r.Handler(n.options(slices.Repeat([]string{"http://hangs/"}, 10)...)...)
		answers := make(chan fleet, 2)
		for range 2 {
			go func() { answers <- readFleet(t, h, "") }()
		}
		for _, want := range []int64{8, 16} {
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			if got := asked.Load(); got != want {
				t.Errorf("%d peers were asked, want %d", got, want)
			}
		}
		unasked := 0
		for range 2 {
			f := <-answers
			for _, one := range f.Instances {
				if one.Error == "not asked, as others took too long" && one.Peer == "http://hangs/" {
					unasked++
				}
			}
			if len(f.Instances) != 11 {
				t.Errorf("%d instances", len(f.Instances))
			}
		}
		if unasked == 0 { // or fewer than 4, as the first of both ends a moment before
			t.Error("all were asked")
		}
	})
}

// TestFleetWithoutAList: what the function of the peers does wrong is said, without its text, and this
// process is there all the same.
func TestFleetWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, peers := range map[string]func(context.Context) ([]string, error){
			"":                    func(context.Context) ([]string, error) { return nil, nil },
			"*errors.errorString": func(context.Context) ([]string, error) { return nil, errors.New("the secret") },
			"no answer in 2 s":    func(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() },
		} {
			var r stats.Registry
			f := readFleet(t, r.Handler(stats.WithPeers(peers)), "")
			if f.Error != want || len(f.Instances) != 1 || !f.Instances[0].Self {
				t.Errorf("fleet.json is %+v, want the error %q and this process", f, want)
			}
		}
	})
}

// TestFleetOnRequest: without peers there is no fleet.json, and the page is told.
func TestFleetOnRequest(t *testing.T) {
	for _, peers := range []func(context.Context) ([]string, error){nil, func(context.Context) ([]string, error) { return nil, nil }} {
		var r stats.Registry
		for _, options := range [][]stats.HandlerOption{nil, {stats.WithPeers(peers)}} {
			h, want := r.Handler(options...), options != nil && peers != nil
			w, told := serve(h, http.MethodGet, "/cache/fleet.json"), strings.Contains(body(t, h, "/stats.json"), `"peers":true`)
			if found := w.Code == http.StatusOK; found != want || told != want {
				t.Errorf("fleet.json has status %d, and the page is told of peers: %t; want %t", w.Code, told, want)
			}
			checkSafe(t, "fleet.json", w.Header())
		}
	}
}

// TestFleetHasThisProcessOnce: a list may have it too, as DNS does.
func TestFleetHasThisProcessOnce(t *testing.T) {
	const own = `{"host":"a","process":{"pid":7,"started":"then"}}`
	for peer, want := range map[string]int{
		own: 1,
		`{"host":"b","process":{"pid":7,"started":"then"}}`:  2,
		`{"host":"a","process":{"pid":8,"started":"then"}}`:  2,
		`{"host":"a","process":{"pid":7,"started":"later"}}`: 2,
	} {
		if got := stats.AddSelf(own, peer); len(got) != want || got[0].Self != (want == 1) || !got[want-1].Self {
			t.Errorf("with %s there are the instances %+v", peer, got)
		}
	}
	if got := stats.AddSelf(`{"host":"a"}`, `{"host":"a"}`); len(got) != 2 { // of an older version
		t.Errorf("without a process there are the instances %+v", got)
	}
}
