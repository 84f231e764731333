package stats_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// childOf is a variable of the environment by which a test runs this program as another
// instance of a service. It has the password that this asks for.
const childOf = "PINWHEEL_STATS_PASSWORD"

// serveChild serves the statistics of an instance until stdin ends.
func serveChild() {
	stats.Register(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{Hits: 3, Misses: 1})})
	h := stats.Handler()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(at.Addr())
	go http.Serve(at, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != os.Getenv(childOf) {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startChild starts another instance, and returns the host and port of its page.
func startChild(t *testing.T, password string) (address string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childOf+"="+password)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

type instance struct {
	Peer, Away string
	Stats      *struct {
		Host, Address string
		Pid           int
		Caches        []struct {
			Name string
			Hits int
		}
	}
}

// fleetOf returns what a handler says of its fleet, asked over HTTP.
func fleetOf(t *testing.T, url string) (all []instance, text string) {
	t.Helper()
	response, err := http.Get(url + "/fleet.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Instances []instance }
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Instances) == 0 {
		t.Fatalf("%v in %s", err, body)
	}
	return answer.Instances, string(body)
}

// TestFleet has a handler show two other processes on its host, and peers that are away: one
// that hangs, one that nobody serves, one that sends the request elsewhere, and one that is
// something else. The handler's own address in the list gives no second instance.
//
// Catches: processes on one host that cannot be told apart; a peer that hangs and with it the
// page; a redirect that is followed, with the password; a password in the answer.
func TestFleet(t *testing.T) {
	const password = "hunter2"
	one, two := startChild(t, password), startChild(t, password)
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	redirects := httptest.NewServer(http.RedirectHandler("http://"+one+"/stats.json", http.StatusFound))
	defer redirects.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer other.Close()
	closed := httptest.NewServer(nil)
	closed.Close()

	var r stats.Registry
	r.Register("users", always(stats.Snapshot{Hits: 7}))
	own := httptest.NewUnstartedServer(nil)
	with := func(address string) string {
		return "http://operator:" + password + "@" + strings.TrimPrefix(address, "http://") + "/cache/"
	}
	var peers []string
	for _, address := range []string{one, two, own.Listener.Addr().String(), hangs.URL, closed.URL, redirects.URL, other.URL} {
		peers = append(peers, with(address))
	}
	own.Config.Handler = r.Handler(stats.WithFleet(peers...))
	own.Start()
	defer own.Close()
	defer http.DefaultClient.CloseIdleConnections()

	all, text := fleetOf(t, own.URL)
	if strings.Contains(text, password) {
		t.Errorf("a password is in %s", text)
	}
	var served, away []string
	var pids []int
	for _, i := range all {
		if i.Away != "" {
			away = append(away, i.Away)
			continue
		}
		served = append(served, fmt.Sprint(i.Stats.Address, " ", i.Stats.Caches[0].Name, " ", i.Stats.Caches[0].Hits))
		pids = append(pids, i.Stats.Pid)
	}
	want := []string{own.Listener.Addr().String() + " users 7", one + " users 3", two + " users 3"}
	if !slices.Equal(served, want) {
		t.Errorf("the instances are %q, want %q", served, want)
	}
	if slices.Sort(pids); len(slices.Compact(pids)) != 3 {
		t.Errorf("the processes are %v, want three", pids)
	}
	for i, reason := range []string{"Timeout", "refused", "302", "not that of a handler"} {
		if len(away) != 4 || !strings.Contains(away[i], reason) {
			t.Fatalf("away are %q, want number %d because of %q", away, i, reason)
		}
	}
}

// TestFleetWithoutPeers checks that a handler without peers shows itself, and asks nobody
// whom a request names.
func TestFleetWithoutPeers(t *testing.T) {
	var r stats.Registry
	own := httptest.NewServer(r.Handler())
	defer own.Close()
	defer http.DefaultClient.CloseIdleConnections()
	asked := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody asked") }))
	defer asked.Close()
	for _, query := range []string{"", "?peers=" + asked.URL} {
		answer := body(t, r.Handler(), "/fleet.json"+query)
		if n := strings.Count(answer, `"pid"`); n != 1 {
			t.Errorf("%d instances in %s, want this one", n, answer)
		}
	}
}

func TestFleetRefusesWhatIsNoAddress(t *testing.T) {
	for _, peer := range []string{"", "10.0.0.7:6061", "/cache/", "ftp://user:hunter2@host/cache/", "http://"} {
		func() {
			defer func() {
				said, _ := recover().(string)
				if !strings.Contains(said, "http://10.0.0.7:6061/cache/") || strings.Contains(said, "hunter2") {
					t.Errorf("of %q it says %q, want an address, without the password", peer, said)
				}
			}()
			stats.WithFleet(peer)
		}()
	}
}
