//go:build unix

package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// stoppedAt is, in the environment of a process that is to be stopped, the address of its Redis.
const stoppedAt = "PINWHEEL_STOPPED_AT"

// nearCache connects an instance of the fleet of TestStoppedProcess, whose database is a key that nobody watches.
func nearCache(addr string, checkClock bool) (c *near.Cache[int, string], database rueidis.Client, err error) {
	client := rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}
	if database, err = rueidis.NewClient(client); err != nil {
		return nil, nil, err
	}
	r, err := redis.New(context.Background(), redis.Options{Client: client, Prefixes: []string{prefix}})
	if err != nil {
		return nil, nil, err
	}
	c, err = near.New[int, string](r, r, near.Options[int, string]{Prefix: prefix, MaxLag: maxLag, CheckClock: checkClock})
	return c, database, err
}

// TestToBeStopped is the process of TestStoppedProcess: it says what the first call returns that begins after the process
// was stopped.
func TestToBeStopped(t *testing.T) {
	addr, checkClock := strings.CutSuffix(os.Getenv(stoppedAt), " checks")
	if addr == "" {
		return // it is none
	}
	c, database, err := nearCache(addr, checkClock)
	check(t, err)
	fetch := func(ctx context.Context) (string, error) {
		return database.Do(ctx, database.B().Get().Key("database").Build()).ToString()
	}
	for last := time.Now(); ; {
		began := time.Now()
		value, err := c.Take(t.Context(), 7, fetch)
		if gap := began.Sub(last); gap > 2*maxLag {
			fmt.Println("woke", value, err)
		}
		last = began
	}
}

// TestStoppedProcess stops a process by SIGSTOP, revokes what it has in memory, and looks at the first answer after it was
// woken: with CheckClock never the old value.
//
// Catches: hits that trust a timer which the process has slept through.
func TestStoppedProcess(t *testing.T) {
	for name, c := range map[string]struct {
		checkClock bool
		rounds     int
	}{"with CheckClock": {true, 5 * *rounds}, "without": {false, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t)
			if old := oldAfterStops(t, s, c.checkClock, c.rounds); (old > 0) == c.checkClock {
				t.Errorf("%d of %d first answers were old", old, c.rounds)
			}
		})
	}
}

func oldAfterStops(t *testing.T, s *redistest.Server, checkClock bool, rounds int) (old int) {
	c, database, err := nearCache(s.Addr, false)
	check(t, err)
	defer database.Close()
	defer c.Close(context.Background())
	do(t, s, "SET", "database", "0")
	p := exec.Command(os.Args[0], "-test.run=^TestToBeStopped$", "-test.count=1")
	p.Env = append(os.Environ(), stoppedAt+"="+s.Addr)
	if checkClock {
		p.Env[len(p.Env)-1] += " checks"
	}
	out, err := p.StdoutPipe()
	check(t, err)
	check(t, p.Start())
	defer func() { _ = p.Process.Kill(); _ = p.Wait() }()
	said := bufio.NewScanner(out)
	for i := range rounds {
		time.Sleep(10 * maxLag) // it connects, and has the value in memory
		check(t, p.Process.Signal(syscall.SIGSTOP))
		do(t, s, "SET", "database", fmt.Sprint(i+1))
		check(t, c.Revoke(t.Context(), 7))
		time.Sleep(3 * maxLag)
		check(t, p.Process.Signal(syscall.SIGCONT))
		if !said.Scan() {
			t.Fatalf("the process has ended: %v", said.Err())
		}
		if said.Text() != fmt.Sprintf("woke %d <nil>", i+1) {
			old++
		}
	}
	return old
}
