//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Signals that end a server.
const (
	immediately = syscall.SIGQUIT
	fast        = syscall.SIGINT
)

// owner returns the user and group of servers, and false if they are those of this process:
// PostgreSQL refuses to run as root.
func owner() (uid, gid int, other bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ = strconv.Atoi(u.Uid)
			gid, _ = strconv.Atoi(u.Gid)
			return uid, gid, true
		}
	}
	return 0, 0, false
}

// owned returns a command that runs as the owner of servers.
func owned(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	if uid, gid, other := owner(); other {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return cmd
}

// ownedDir makes a folder that belongs to the owner of servers.
func ownedDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	if uid, gid, other := owner(); other {
		if err := os.Chown(dir, uid, gid); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Pause stops all processes of the server (SIGSTOP): its connections stay open, and silent.
func (s *Server) Pause() (resume func() error, err error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity")
	if err != nil {
		return nil, err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return nil, err
	}
	all := []int{s.cmd.Process.Pid}
	for _, pid := range pids {
		all = append(all, int(pid))
	}
	signal := func(sig syscall.Signal) error {
		for _, pid := range all {
			if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("pgtest: %v to %d: %w", sig, pid, err)
			}
		}
		return nil
	}
	return func() error { return signal(syscall.SIGCONT) }, signal(syscall.SIGSTOP)
}
