//go:build unix

package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
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

// TestToBeStopped is the process of TestStoppedProcess: it says what the first call returns that begins after it could not
// run for a while, and when that began.
func TestToBeStopped(t *testing.T) {
	addr, checkClock := strings.CutSuffix(os.Getenv(stoppedAt), " checks")
	if addr == "" {
		return // it is none
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		os.Exit(0)
	}()
	c, database, err := nearCache(addr, checkClock)
	check(t, err)
	fetch := func(ctx context.Context) (string, error) {
		return database.Do(ctx, database.B().Get().Key("database").Build()).ToString()
	}
	start := time.Now()
	for last := start.Add(-time.Hour); ; { // the first call also is one
		began := time.Now()
		value, err := c.Take(t.Context(), 7, fetch)
		if gap := began.Sub(last); gap > 2*maxLag {
			fmt.Println("first", start.Add(began.Sub(start)).UnixNano(), value, err) // its wall clock may be of before the stop
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
	}{"with CheckClock": {true, 5 * *rounds}, "without": {false, 30}} {
		t.Run(name, func(t *testing.T) {
			if old := isOldAfterStops(t, server(t), c.checkClock, c.rounds); old == c.checkClock {
				t.Errorf("a first answer was old: %t", old)
			}
		})
	}
}

// isOldAfterStops reports whether the first answer after one of the stops was old.
func isOldAfterStops(t *testing.T, s *redistest.Server, checkClock bool, rounds int) (old bool) {
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
	_, err = p.StdinPipe()
	check(t, err)
	out, err := p.StdoutPipe()
	check(t, err)
	check(t, p.Start())
	defer func() { _ = p.Process.Kill(); _ = p.Wait() }()
	said := bufio.NewScanner(out)
	first := func(since time.Time) (value string) {
		for said.Scan() {
			var began int64
			if n, _ := fmt.Sscanf(said.Text(), "first %d %s", &began, &value); n == 2 && began >= since.UnixNano() { // others are of a busy machine
				return value
			}
		}
		t.Fatalf("the process has ended: %v", said.Err())
		return ""
	}
	first(time.Unix(0, 0))
	for i := 1; i <= rounds && !old; i++ {
		time.Sleep(10 * maxLag) // it has the value in memory
		check(t, p.Process.Signal(syscall.SIGSTOP))
		do(t, s, "SET", "database", strconv.Itoa(i))
		check(t, c.Revoke(t.Context(), 7))
		time.Sleep(3 * maxLag)
		woken := time.Now()
		check(t, p.Process.Signal(syscall.SIGCONT))
		old = first(woken) != strconv.Itoa(i)
	}
	return old
}
