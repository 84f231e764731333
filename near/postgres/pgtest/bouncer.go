package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// ErrNoBouncer means that there is no pgbouncer to run.
var ErrNoBouncer = errors.New("pgbouncer is not installed; install it (apt-get install pgbouncer, brew install pgbouncer)")

// A Bouncer is a pgbouncer in transaction mode.
type Bouncer struct {
	Addr string

	dir  string
	cmd  *exec.Cmd
	done chan struct{}
	out  *output
}

// StartBouncer runs a pgbouncer before a server. It answers when StartBouncer returns.
func StartBouncer(s *Server) (*Bouncer, error) {
	if _, err := exec.LookPath("pgbouncer"); err != nil {
		return nil, ErrNoBouncer
	}
	port, err := neartest.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := ownedDir("bouncer")
	if err != nil {
		return nil, err
	}
	b := &Bouncer{Addr: net.JoinHostPort("127.0.0.1", port), dir: dir}
	host, serverPort, _ := net.SplitHostPort(s.Addr)
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
server_login_retry = 0.1
`, host, serverPort, port)
	if err := os.WriteFile(b.config(), []byte(config), 0o644); err != nil {
		b.Stop()
		return nil, err
	}
	if err := b.Restart(); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

func (b *Bouncer) config() string { return filepath.Join(b.dir, "pgbouncer.ini") }

// Restart runs it again after Kill.
func (b *Bouncer) Restart() error {
	b.out, b.done = &output{}, make(chan struct{})
	b.cmd = owned("pgbouncer", b.config())
	b.cmd.Stdout, b.cmd.Stderr = b.out, b.out
	if err := b.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // its output says how it ended
		close(done)
	}(b.cmd, b.done)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for ctx.Err() == nil {
		if conn, err := pgx.Connect(ctx, b.URL()); err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-b.done:
			return fmt.Errorf("pgbouncer ended: %s", b.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("pgbouncer at %s is not ready after %v: %s", b.Addr, startTime, b.out)
}

// URL returns the connection string of the database postgres for the superuser. Statements
// are not prepared, as transactions of one connection may run in several of the server.
func (b *Bouncer) URL() string {
	return "postgres://postgres@" + b.Addr + "/postgres?sslmode=disable&default_query_exec_mode=exec"
}

// Kill ends the process, and returns when it has ended.
func (b *Bouncer) Kill() {
	if b.cmd != nil && b.cmd.Process != nil {
		_ = b.cmd.Process.Kill() // it may have ended
		<-b.done
	}
}

// Stop is Kill, and removes what StartBouncer wrote.
func (b *Bouncer) Stop() {
	b.Kill()
	os.RemoveAll(b.dir)
}
