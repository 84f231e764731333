//go:build unix

package acceptance

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// Tests that affect the whole process run in another one: this test binary again, with one
// test to run and this variable set.
const inChild = "PINWHEEL_FAULTS_CHILD"

// child returns the command that runs the test of t in another process.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inChild+"=1")
	return cmd
}

// A process whose memory limit (GOMEMLIMIT) is below its use collects garbage nearly all the
// time. A full cache in it stays correct, does not grow, and does nothing while unused.
//
// Catches: values lost or mixed up by the collector, such as ones held only weakly or by an
// integer; arrays, tombstones or queues that grow with the traffic; a clean-up that the
// collector starts and that never ends.
func TestMemoryPressure(t *testing.T) {
	if os.Getenv(inChild) != "" {
		underMemoryPressure(t)
		return
	}
	if out, err := child(t).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

func underMemoryPressure(t *testing.T) {
	const limit, size = 8192 * 2, 1024
	goroutines := runtime.NumGoroutine()
	c := New(t, cache.Options[int, []byte]{Limit: limit, Expire: time.Hour})
	put := func(key int) {
		value := make([]byte, size)
		copy(value, fmt.Sprint(key))
		c.Set(key, value)
	}
	for key := range 2 * limit { // so that every shard has had its most entries
		put(key)
	}
	before := settle.Heap()
	debug.SetMemoryLimit(before)

	collections := numGC()
	Together(4, func(g int) {
		for i := range 20_000 {
			key := (g*7919 + i*31) % (3 * limit)
			put(key)
			c.Touch(key, time.Hour)
			if value, ok := c.Get(key + 1); ok && !strings.HasPrefix(string(value), fmt.Sprint(key+1)+"\x00") {
				t.Errorf("key %d has the value of %q", key+1, value[:10])
			}
			if i%100 == 0 {
				c.Del(key)
			}
		}
	})
	n := 0
	for key, value := range c.All() {
		if n++; len(value) != size || !strings.HasPrefix(string(value), fmt.Sprint(key)+"\x00") {
			t.Errorf("key %d has the value of %q", key, value[:10])
		}
	}
	if n != c.Len() || n > limit || n < limit-800 {
		t.Errorf("%d entries of at most %d, of which at most 800 were removed; Len is %d", n, limit, c.Len())
	}
	if collections = numGC() - collections; collections < 20 { // without, it would be 5
		t.Errorf("%d collections: there was no pressure", collections)
	}
	if after := settle.Heap(); after > before+before/20 {
		t.Errorf("%d bytes live, after %d with as many entries", after, before)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines of a cache that nobody uses", n-goroutines)
	}
	t.Logf("%d bytes live, %d collections", before, collections)
	runtime.KeepAlive(c)
}

func numGC() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

// A process that is stopped for a while, as by a debugger, a frozen container or a busy host,
// runs no tick while time goes on. The first read after that, before any tick, finds no
// expired value.
//
// Catches: reads that trust a clock which only the ticks move.
func TestStoppedProcess(t *testing.T) {
	if os.Getenv(inChild) != "" {
		stoppedProcess(t)
		return
	}
	cmd := child(t)
	out, err := cmd.StdoutPipe()
	settle.Must(t, err)
	settle.Must(t, cmd.Start())
	var lines []string
	for in := bufio.NewScanner(out); in.Scan(); {
		lines = append(lines, in.Text())
		if !strings.HasSuffix(in.Text(), "stop me") {
			continue
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		time.Sleep(200 * time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(lines, "\n"))
	}
}

// stoppedProcess reads without a pause until it has been stopped three times, each time past
// the deadline of an entry.
func stoppedProcess(t *testing.T) {
	const ttl = 100 * time.Millisecond
	c := New(t, cache.Options[int, int]{Expire: time.Hour})
	for stops, key := 0, 0; stops < 3; key++ {
		c.SetWithExpire(key, key, ttl)
		set := time.Now() // after the TTL began
		fmt.Println("stop me")
		asked := set
		for found := true; found; {
			last := asked
			asked = time.Now()
			if asked.Sub(last) > ttl {
				stops++
			}
			if _, found = c.Get(key); found && asked.Sub(set) >= ttl {
				t.Errorf("found %v after its end, having stood still for %v", asked.Sub(set)-ttl, asked.Sub(last))
			}
		}
	}
	MustClose(t, c)
}
