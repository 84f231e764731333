// Package mysqltest runs MariaDB on free ports of this machine, for tests and examples.
package mysqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// ErrNoServer means that there is no MariaDB to run.
var ErrNoServer = errors.New("mariadbd and mariadb-install-db are not installed; install them (apt-get install mariadb-server, brew install mariadb)")

// startTime is how long a server may take to answer, on a busy machine.
const startTime = time.Minute

// A Server is a MariaDB with a binary log, a database test, and the user root, who needs no
// password. Its methods are not safe for concurrent use.
type Server struct {
	Addr string

	program string
	dir     string
	args    []string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	out     *output
}

// Start runs MariaDB with settings such as "binlog-row-image=MINIMAL". What it has acknowledged
// survives a crash of the server, and not one of the machine. It answers when Start returns. If this
// process is of root, so is the server.
func Start(settings ...string) (*Server, error) {
	program, err := program("mariadbd")
	if err != nil {
		return nil, err
	}
	template, err := installed()
	if err != nil {
		return nil, err
	}
	port, err := neartest.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mysqltest")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", port), program: program, dir: dir}
	s.args = append(common(), "--datadir="+s.data(), "--port="+port, "--bind-address=127.0.0.1", "--skip-name-resolve",
		"--socket="+filepath.Join(dir, "socket"), "--pid-file="+filepath.Join(dir, "pid"),
		"--log-bin="+filepath.Join(s.data(), "binlog"), "--server-id=1", "--binlog-format=ROW",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=16M", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin")
	for _, setting := range settings {
		s.args = append(s.args, "--"+setting)
	}
	if err := os.CopyFS(s.data(), os.DirFS(template)); err != nil {
		s.Stop()
		return nil, err
	}
	if err := s.Restart(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// common returns the arguments of all programs.
func common() []string {
	args := []string{"--no-defaults", "--innodb-log-file-size=8M", "--innodb-data-file-path=ibdata1:4M:autoextend", "--innodb-temp-data-file-path=ibtmp1:4M:autoextend"}
	if u, err := user.Current(); err == nil && os.Getuid() == 0 {
		args = append(args, "--user="+u.Username) // else it refuses
	}
	return args
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// program returns the path of a program, also of one that only root finds in its PATH.
func program(name string) (string, error) {
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", ErrNoServer
}

// installed returns a folder that mariadb-install-db has made. It stays for other processes, as
// making it takes longer than many a test.
func installed() (string, error) {
	template := filepath.Join(os.TempDir(), fmt.Sprintf("mysqltest-%d", os.Getuid()))
	if _, err := os.Stat(template); err == nil {
		return template, nil
	}
	install, err := program("mariadb-install-db")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "install")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	args := append(common(), "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if out, err := exec.Command(install, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mysqltest: mariadb-install-db: %w: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(data, "test"), 0o755); err != nil {
		return "", err
	}
	// Another process may have been faster.
	if err := os.Rename(data, template); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, missing := os.Stat(template); missing != nil {
			return "", err
		}
	}
	return template, nil
}

// Restart runs the server again, with the same data and port, after Crash or Shutdown.
func (s *Server) Restart() error {
	s.out, s.done = &output{}, make(chan struct{})
	s.cmd = exec.Command(s.program, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // its output says how it ended
		close(done)
	}(s.cmd, s.done)
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		if s.Exec("SELECT 1") == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("mariadbd ended: %s", s.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("mariadbd at %s is not ready after %v: %s", s.Addr, startTime, s.out)
}

// DSN returns the data source name of the database test for root, as github.com/go-sql-driver/mysql
// has it. One statement may be several.
func (s *Server) DSN() string { return "root@tcp(" + s.Addr + ")/test?multiStatements=true" }

// Exec runs statements, over a connection of its own.
func (s *Server) Exec(statements string) error {
	config, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{} // it says what the error says
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), statements)
	return err
}

// Crash kills the server (SIGKILL). When it runs again, it recovers from its logs.
func (s *Server) Crash() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.done
	}
}

// Shutdown ends the server as an administrator does, and closes its connections.
func (s *Server) Shutdown() error {
	if err := s.Exec("SHUTDOWN"); err != nil {
		return err
	}
	<-s.done
	return nil
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
