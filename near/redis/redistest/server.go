// Package redistest runs redis-server on free ports of this machine: alone, also with TLS, with
// replicas and Sentinels, or as a cluster. It is for the tests and examples of this repository, in
// several modules, and promises nothing: any release may change it.
package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// ErrNoServer means that there is no redis-server to run.
var ErrNoServer = errors.New("redis-server is not installed; install it (apt-get install redis-server, brew install redis)")

// startTime is how long a server may take to answer, on a busy machine.
const startTime = time.Minute

// A Server is a process of redis-server. Its methods are not safe for concurrent use.
type Server struct {
	Addr string

	args []string
	dir  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	out  *output
}

// inMemory has the arguments of a server that keeps nothing on disk.
var inMemory = []string{"--save", "", "--appendonly", "no"}

// Start runs redis-server with additional arguments, such as "--maxmemory", "2mb". It
// keeps nothing on disk. The server answers when Start returns.
func Start(args ...string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	return s.run(append(slices.Clip(inMemory), args...)...)
}

// startConfigured runs a server with a configuration file of the given lines, which the
// server may change.
func startConfigured(lines []string, args ...string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, "redis.conf")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return orStop(s, err)
	}
	s.args = slices.Insert(s.args, 0, file)
	return s.run(args...)
}

// newServer returns a server with a folder and a port, which does not run yet.
func newServer() (*Server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNoServer
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	return &Server{
		Addr: net.JoinHostPort("127.0.0.1", port),
		dir:  dir,
		args: []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir},
	}, nil
}

// run starts a new server with further arguments. On an error it removes the folder.
func (s *Server) run(args ...string) (*Server, error) {
	s.args = append(s.args, args...)
	return orStop(s, s.Restart())
}

// orStop returns s, or stops it if there is an error.
func orStop[S interface{ Stop() }](s S, err error) (started S, _ error) {
	if err != nil {
		s.Stop()
		return started, err
	}
	return s, nil
}

// freePort returns a port that is free, as is the one 10,000 above it, where a cluster has its
// bus. Both are below those that the system hands out by itself, from 32,768 on: nobody takes
// them by chance while they are free, between the tests of a server and when it restarts.
func freePort() (string, error) {
	var err error
	for range 100 {
		port := 10_000 + rand.N(12_000)
		if err = errors.Join(listens(port), listens(port+10_000)); err == nil {
			return strconv.Itoa(port), nil
		}
	}
	return "", fmt.Errorf("100 ports from 10000 to 22000 were taken, at last: %w", err)
}

// listens reports what keeps a port from being listened at.
func listens(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// Restart runs the server again, on the same port, after Kill. It has what it saved.
func (s *Server) Restart() error {
	s.out, s.done = &output{}, make(chan struct{})
	s.cmd = exec.Command("redis-server", s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // its output says how it ended
		close(done)
	}(s.cmd, s.done)
	return s.waitUntil(func(ctx context.Context, c rueidis.Client) bool {
		err := c.Do(ctx, c.B().Ping().Build()).Error()
		_, answered := rueidis.IsRedisErr(err) // such as NOAUTH
		return err == nil || answered
	})
}

// waitUntil asks the server until is returns true.
func (s *Server) waitUntil(is func(context.Context, rueidis.Client) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for ctx.Err() == nil {
		if c, err := dial(s.Addr); err == nil {
			ok := is(ctx, c)
			c.Close()
			if ok {
				return nil
			}
		} else if _, answered := rueidis.IsRedisErr(err); answered {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("redis-server ended: %s", s.out)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("redis-server at %s is not ready after %v: %s", s.Addr, startTime, s.out)
}

func dial(addr string) (rueidis.Client, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true, DisableRetry: true})
	if err != nil && c != nil {
		c.Close()
	}
	return c, err
}

// Do runs one command, over a connection of its own.
func (s *Server) Do(args ...string) (rueidis.RedisMessage, error) {
	c, err := dial(s.Addr)
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	defer c.Close()
	return c.Do(context.Background(), c.B().Arbitrary(args...).Build()).ToMessage()
}

// Pid returns the id of the process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Kill ends the process at once (SIGKILL), and returns when it has ended.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.done
	}
}

// Stop is Kill, and removes what the server wrote.
func (s *Server) Stop() {
	s.Kill()
	os.RemoveAll(s.dir)
}

// output is what a process wrote, while it writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
