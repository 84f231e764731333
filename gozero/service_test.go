package gozero_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/proc"
	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

// asService is the environment variable that makes the test binary a service. Its value has
// the ports of the rest server and of the DevServer.
const asService = "PINWHEEL_TEST_SERVICE"

// beService is the main function of a service that is set up by YAML. It prints what happens,
// and ends with its standard input as by a signal: a real signal causes a data race in
// go-zero, which the race detector finds.
func beService() {
	ports := strings.Fields(os.Getenv(asService))
	var c struct {
		rest.RestConf
		Users gozero.Conf
	}
	logx.Must(conf.LoadFromYamlBytes(fmt.Appendf(nil, `
Name: service
Host: 127.0.0.1
Port: %s
DevServer: { Host: 127.0.0.1, Port: %s }
Log: { Level: severe }
Users: { Name: users, Limit: 10, Expire: 1h }
`, ports[0], ports[1]), &c))
	server := rest.MustNewServer(c.RestConf)
	defer server.Stop()
	users := gozero.MustNewCache(c.Users, func(o *cache.Options[string, int]) {
		o.OnRemove = func(e cache.Event[string, int]) { fmt.Println("removed", e.Key, e.Cause) }
	})
	users.Set("a", 1)
	users.Get("a")
	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
	gozero.MustRegister()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		proc.Shutdown()
	}()
	server.StartWithOpts(func(s *http.Server) {
		s.BaseContext = func(net.Listener) context.Context {
			fmt.Println("listening")
			return context.Background()
		}
	})
	_, found := users.Get("a")
	fmt.Println("ended, found", found)
}

// TestService runs a whole service, from its YAML to its end, in a process of its own, as
// go-zero starts its DevServer, and shuts down, only once.
func TestService(t *testing.T) {
	port, devPort := freePort(t), freePort(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", asService, port, devPort))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "listening" {
		t.Fatalf("it printed %q, %v", lines.Text(), lines.Err())
	}

	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	pageIsFound(t, base, "/cache")
	if stats := request(t, http.MethodGet, base+"/cache/stats.json"); !strings.Contains(stats.body, `"name":"users"`) {
		t.Errorf("stats.json does not have the cache:\n%s", stats.body)
	}
	metrics := devServerMetrics(t, devPort)
	if want := `cache_gets_total{cache="users",result="hit"} 1`; !strings.Contains(metrics, want) {
		t.Errorf("the DevServer does not show %s:\n%s", want, metrics)
	}

	must(t, in.Close())
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	// The cache is closed when Start returns.
	if want := []string{"removed a cleared", "ended, found false"}; !slices.Equal(said, want) {
		t.Errorf("it printed\n%q\nwant\n%q", said, want)
	}
}

// devServerMetrics returns the metrics of a DevServer. It tries again, as go-zero starts the
// DevServer in the background.
func devServerMetrics(t *testing.T, port int) string {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return request(t, http.MethodGet, "http://"+address+"/metrics").body
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// freePort returns a free port below those that the system hands out by itself, as to tests
// that run at the same time.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
