// Package pgtest runs PostgreSQL on free ports of this machine, for tests and examples: alone,
// with standbys, or behind pgbouncer.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// ErrNoServer means that there is no PostgreSQL to run.
var ErrNoServer = errors.New("postgres and initdb are not installed; install them (apt-get install postgresql, brew install postgresql), or set PGBIN to the folder that has them")

// startTime is how long a server may take to answer, on a busy machine.
const startTime = time.Minute

// A Server is a cluster of databases of PostgreSQL, with the superuser postgres, who needs no
// password. Its methods are not safe for concurrent use.
type Server struct {
	Addr string

	bin  string // the folder of the programs
	dir  string // has the folder of the data
	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	out  *output
}

// Start runs PostgreSQL with settings such as "wal_level=logical". The server does not wait
// for its disk, so a crash of the machine would destroy its data. It answers when Start returns.
// If this process is of root, the server is of the user postgres.
func Start(settings ...string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	template, err := initialized(bin)
	if err != nil {
		return nil, err
	}
	s, err := newServer(bin, settings)
	if err != nil {
		return nil, err
	}
	if out, err := owned("cp", "-a", template, s.data()).CombinedOutput(); err != nil {
		s.Stop()
		return nil, fmt.Errorf("pgtest: copying %s: %w: %s", template, err, out)
	}
	if err := s.Restart(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// newServer returns a server with a folder and a port, but without data.
func newServer(bin string, settings []string) (*Server, error) {
	port, err := neartest.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := ownedDir("pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", port), bin: bin, dir: dir}
	s.args = []string{"-D", s.data(), "-p", port}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_prepared_transactions=10",
		"max_connections=60", "shared_buffers=16MB", "max_wal_size=128MB",
	}, settings...) {
		s.args = append(s.args, "-c", setting)
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// programs returns the folder of the newest PostgreSQL.
func programs() (string, error) {
	folders := []string{os.Getenv("PGBIN")}
	if folders[0] == "" {
		folders, _ = filepath.Glob("/usr/lib/postgresql/*/bin")
		sort.Slice(folders, func(i, j int) bool { return version(folders[i]) > version(folders[j]) })
		if path, err := exec.LookPath("initdb"); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	for _, folder := range folders {
		if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err == nil {
			return folder, nil
		}
	}
	return "", ErrNoServer
}

// version returns the number in a folder such as /usr/lib/postgresql/15/bin.
func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}

// initialized returns a folder that initdb has made. It stays for other processes, as making
// it takes longer than many a test.
func initialized(bin string) (string, error) {
	template := filepath.Join(os.TempDir(), fmt.Sprintf("pgtest-%d-%d", os.Getuid(), version(bin)))
	if _, err := os.Stat(template); err == nil {
		return template, nil
	}
	dir, err := ownedDir("initdb")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	initdb := owned(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pgtest: initdb: %w: %s", err, out)
	}
	// Another process may have been faster.
	if err := os.Rename(data, template); err != nil && !errors.Is(err, os.ErrExist) {
		if _, missing := os.Stat(template); missing != nil {
			return "", err
		}
	}
	return template, nil
}

// Restart runs the server again, with the same data and port, after Crash or Shutdown.
func (s *Server) Restart() error {
	s.out, s.done = &output{}, make(chan struct{})
	s.cmd = owned(filepath.Join(s.bin, "postgres"), s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // its output says how it ended
		close(done)
	}(s.cmd, s.done)
	return s.Ready()
}

// Ready returns when the server answers.
func (s *Server) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			_ = conn.Close(ctx)
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("postgres ended: %s", s.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("postgres at %s is not ready after %v: %s", s.Addr, startTime, s.out)
}

// URL returns the connection string of the database postgres for the superuser.
func (s *Server) URL() string { return "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable" }

// Exec runs statements, over a connection of its own.
func (s *Server) Exec(sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Crash ends all processes of the server at once. When it runs again, it recovers from its log.
func (s *Server) Crash() { s.end(immediately) }

// Shutdown ends the server as an administrator does, and closes its connections.
func (s *Server) Shutdown() { s.end(fast) }

func (s *Server) end(signal os.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(signal) // it may have ended
		<-s.done
	}
}

// Stop is Crash, and removes the data.
func (s *Server) Stop() {
	s.Crash()
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
