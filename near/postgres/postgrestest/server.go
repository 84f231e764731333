// Package postgrestest runs PostgreSQL, standbys of it, and pgbouncer, on free ports of this machine. It is for the tests
// and examples of this repository, in several modules, and promises nothing: any release may change it.
package postgrestest

import (
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
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoServer means that there is no PostgreSQL, or no pgbouncer, to run.
var ErrNoServer = errors.New("PostgreSQL is not installed; install it (apt-get install postgresql pgbouncer, brew install postgresql pgbouncer)")

// startTime is how long a server may take to answer, on a busy machine.
const startTime = time.Minute

// A Server is a process of postgres or pgbouncer. Its methods are not safe for concurrent use.
type Server struct {
	URL string // of the database postgres, as its superuser

	name, dir string
	args      []string
	cmd       *exec.Cmd
	done      chan struct{} // closed when the process has ended
}

// Start runs PostgreSQL with further settings, such as "max_prepared_transactions=10", or "ssl=on". Its user is postgres,
// and needs no password.
func Start(settings ...string) (*Server, error) {
	s, err := newServer("postgres")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	if err := s.runTool("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"); err != nil {
		return s.orStop(err)
	}
	if slices.Contains(settings, "ssl=on") { // its certificate is in its folder
		if err := s.runTool("openssl", "req", "-new", "-x509", "-nodes", "-subj", "/CN=localhost", "-keyout", filepath.Join(data, "server.key"), "-out", filepath.Join(data, "server.crt")); err != nil {
			return s.orStop(err)
		}
	}
	return s.orStop(s.serve(data, settings))
}

// serve runs a server with a folder of data. It survives that its process is killed, not that the machine is.
func (s *Server) serve(data string, settings []string) error {
	s.args = []string{"-D", data, "-k", s.dir, "-p", s.port()}
	for _, setting := range append([]string{"listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB", "max_connections=200"}, settings...) {
		s.args = append(s.args, "-c", setting)
	}
	return s.Restart()
}

// Standby runs a standby of the server, with further settings.
func (s *Server) Standby(settings ...string) (*Server, error) {
	standby, err := newServer("postgres")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(standby.dir, "data")
	if err := standby.runTool("pg_basebackup", "-d", s.URL, "-D", data, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"); err != nil {
		return standby.orStop(err)
	}
	return standby.orStop(standby.serve(data, settings))
}

// Bouncer runs pgbouncer before the server, in the mode "transaction", for the users postgres and app.
func (s *Server) Bouncer() (*Server, error) {
	b, err := newServer("pgbouncer")
	if err != nil {
		return nil, err
	}
	of, err := pgx.ParseConfig(s.URL)
	if err != nil {
		return b.orStop(err)
	}
	users := filepath.Join(b.dir, "users")
	if err := os.WriteFile(users, []byte("\"postgres\" \"\"\n\"app\" \"\"\n"), 0o644); err != nil {
		return b.orStop(err)
	}
	config := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%s\nunix_socket_dir=\nauth_type=trust\nauth_file=%s\npool_mode=transaction\ndefault_pool_size=20\nmax_client_conn=500\nserver_login_retry=1\n", of.Port, b.port(), users)
	file := filepath.Join(b.dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return b.orStop(err)
	}
	b.args = []string{file}
	b.URL = strings.Replace(s.URL, fmt.Sprint(":", of.Port, "/"), ":"+b.port()+"/", 1)
	return b.orStop(b.Restart())
}

// newServer returns a server with a folder and a port, which does not run yet.
func newServer(name string) (*Server, error) {
	if _, err := tool(name); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "postgrestest")
	if err == nil {
		err = give(dir)
	}
	return &Server{URL: fmt.Sprintf("postgres://postgres@127.0.0.1:%s/postgres?sslmode=disable", port), name: name, dir: dir}, err
}

// freePort returns a port below those that the system hands out by itself, from 32,768 on: nobody takes it by chance while
// the server is between two starts.
func freePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(22_000 + rand.N(10_000))
		l, failed := net.Listen("tcp", "127.0.0.1:"+port)
		if err = failed; err == nil {
			return port, l.Close()
		}
	}
	return "", err
}

func (s *Server) port() string {
	config, _ := pgx.ParseConfig(s.URL)
	return strconv.Itoa(int(config.Port))
}

func (s *Server) orStop(err error) (*Server, error) {
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// tool returns the path of a program: Debian has those of the server elsewhere.
func tool(name string) (path string, err error) {
	if path, err = exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/sbin/", "/opt/homebrew/opt/postgresql*/bin/"} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", fmt.Errorf("no %s: %w", name, ErrNoServer)
}

// runTool runs a program to its end.
func (s *Server) runTool(name string, args ...string) error {
	path, err := tool(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	asOther(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// Restart runs the server again, on the same port, after Kill or Shutdown.
func (s *Server) Restart() error {
	path, err := tool(s.name)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(path, s.args...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	asOther(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // its log says how it ended
		close(done)
	}(s.cmd, s.done)
	return s.await()
}

// await returns when the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%s has ended: %s", s.name, said)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.name, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Shutdown ends the server as an administrator does (SIGINT).
func (s *Server) Shutdown() { s.end(syscall.SIGINT) }

// Kill ends the server as a crash does (SIGQUIT): it recovers when it starts again.
func (s *Server) Kill() { s.end(syscall.SIGQUIT) }

// CrashProcess kills a process that serves a connection, as when the system runs out of memory: all connections break, and
// the server recovers without a new start. It returns when that is done.
func (s *Server) CrashProcess() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	p, err := os.FindProcess(int(conn.PgConn().PID()))
	if err != nil {
		return err
	}
	other, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	if err := p.Kill(); err != nil {
		return err
	}
	for other.Ping(ctx) == nil { // until the server ends it, and takes no new ones
		time.Sleep(time.Millisecond)
	}
	return s.await()
}

func (s *Server) end(how os.Signal) {
	if s.done != nil {
		_ = s.cmd.Process.Signal(how)
		<-s.done
	}
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() {
	s.end(syscall.SIGQUIT)
	_ = os.RemoveAll(s.dir)
}

// Started returns what a function of this package has started, and stops it after the test. It skips the test if there is
// no such program, and fails it on any other error.
func Started(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	if errors.Is(err, ErrNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
