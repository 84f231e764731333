package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestMain runs the program itself for TestProgram.
func TestMain(m *testing.M) {
	if os.Getenv("PINWHEEL_RELAY_TEST") != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const usersTable = "users=user:{id},user:email:{email}"

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// database starts a server with the table of users.
func database(t testing.TB) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start()
	pgtest.Started(t, s, err)
	check(t, s.Exec("CREATE TABLE users (id int PRIMARY KEY, email text); INSERT INTO users VALUES (7, 'a@b.c')"))
	return s
}

func store(t testing.TB) *redistest.Server {
	t.Helper()
	s, err := redistest.Start()
	return redistest.Started(t, s, err)
}

// await waits until is.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// A program is this program in a process of its own.
type program struct {
	*exec.Cmd
	url   string
	ended chan error
}

func begin(t testing.TB, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0], args...), ended: make(chan error, 1)}
	p.Env = append(os.Environ(), "PINWHEEL_RELAY_TEST=1")
	output, err := p.StderrPipe()
	check(t, err)
	check(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	lines, listening := bufio.NewScanner(output), regexp.MustCompile(`listen=(\S+)`)
	for p.url == "" && lines.Scan() {
		t.Log(lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			p.url = "http://" + m[1]
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, output)
		p.ended <- p.Wait()
	}()
	return p
}

// get returns the status and the body of a page.
func (p *program) get(t testing.TB, path string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(p.url + path)
	check(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, string(body)
}

// leads reports whether the program relays, by its metrics.
func (p *program) leads(t testing.TB) bool {
	_, metrics := p.get(t, "/metrics")
	return strings.Contains(metrics, "\npinwheel_relay_leads 1\n")
}

// TestProgram prints the migration, runs two relays, changes a row by hand, kills the one that relays,
// and ends the other.
//
// Catches: a key that stays in Redis, a relay that takes over from none, a page that says otherwise, an end that
// is not clean.
func TestProgram(t *testing.T) {
	t.Parallel()
	db, redis := database(t), store(t)
	var migration strings.Builder
	check(t, run(t.Context(), []string{"-sql", "-table", usersTable}, &migration, io.Discard))
	check(t, db.Exec(migration.String()))
	args := []string{"-postgres", db.URL(), "-redis", "redis://" + redis.Addr, "-table", usersTable, "-listen", "127.0.0.1:0", "-max-lag", "300ms"}
	programs := []*program{begin(t, args...), begin(t, args...)}
	lead := func() (leader *program) {
		await(t, "a leader", func() bool {
			for _, p := range programs {
				if p.leads(t) {
					leader = p
				}
			}
			return leader != nil
		})
		return leader
	}
	changed := func(sql string) {
		await(t, "the removal", func() bool {
			for _, key := range []string{"user:7", "user:email:a@b.c", "user:8"} {
				_, err := redis.Do("SET", key, "old")
				check(t, err)
			}
			check(t, db.Exec(sql))
			time.Sleep(50 * time.Millisecond)
			n, err := redis.Do("EXISTS", "user:7", "user:email:a@b.c")
			check(t, err)
			left, _ := n.ToInt64()
			return left == 0
		})
	}
	leader := lead()
	changed("UPDATE users SET email = email")
	for _, p := range programs {
		await(t, "/ready", func() bool { status, _ := p.get(t, "/ready"); return status == http.StatusOK })
	}
	if _, metrics := leader.get(t, "/metrics"); !strings.Contains(metrics, "pinwheel_relay_takeovers_total 1\n") {
		t.Errorf("metrics:\n%s", metrics)
	}
	check(t, leader.Process.Kill())
	<-leader.ended
	programs = slices.DeleteFunc(programs, func(p *program) bool { return p == leader })
	last := lead()
	changed("UPDATE users SET email = email")
	check(t, last.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-last.ended:
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end by SIGTERM")
	}
}

// Catches: a mistake that is not told, or without what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	db, redis := database(t), store(t)
	all := []string{"-postgres", db.URL(), "-redis", "redis://" + redis.Addr, "-listen", "127.0.0.1:0"}
	if err := run(t.Context(), append(all, "-table", usersTable), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "pinwheel-relay -sql") {
		t.Errorf("without the migration: %v", err)
	}
	var migration strings.Builder
	check(t, run(t.Context(), []string{"-sql", "-table", usersTable}, &migration, io.Discard))
	check(t, db.Exec(migration.String()))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":         {nil, "-table is missing"},
		"no database":     {[]string{"-table", usersTable}, "-postgres is missing"},
		"no keys":         {[]string{"-table", "users"}, "want TABLE=KEY,KEY"},
		"a word":          {append(all, "-table", usersTable, "go"), "\"go\" is no flag"},
		"all of Redis":    {append(all, "-table", usersTable, "-prefix", ""), "removes all keys"},
		"no URL of Redis": {append(all, "-table", usersTable, "-redis", "cache:6379"), "want such as redis://"},
		"no Redis":        {append(all, "-table", usersTable, "-redis", "redis://127.0.0.1:1"), "-redis: "},
		"MaxLag":          {append(all, "-table", usersTable, "-max-lag", "3ns"), "unit forgotten"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := run(ctx, c.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
