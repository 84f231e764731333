package pgtest

import (
	"fmt"
	"net"
	"path/filepath"
)

// Standby runs a standby of the server, with further settings such as
// "recovery_min_apply_delay=1s". It answers when Standby returns.
func (s *Server) Standby(settings ...string) (*Server, error) {
	standby, err := newServer(s.bin, settings)
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	backup := owned(filepath.Join(s.bin, "pg_basebackup"), "-h", host, "-p", port, "-U", "postgres", "-D", standby.data(), "-R", "-c", "fast", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		standby.Stop()
		return nil, fmt.Errorf("pgtest: pg_basebackup: %w: %s", err, out)
	}
	if err := standby.Restart(); err != nil {
		standby.Stop()
		return nil, err
	}
	return standby, nil
}

// Promote makes a standby a primary, and returns when it is one.
func (s *Server) Promote() error { return s.Exec("SELECT pg_promote()") }
