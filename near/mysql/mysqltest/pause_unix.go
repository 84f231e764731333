//go:build unix

package mysqltest

import "syscall"

// Pause stops the server (SIGSTOP): its connections stay open, and silent.
func (s *Server) Pause() (resume func() error, err error) {
	resume = func() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
	return resume, s.cmd.Process.Signal(syscall.SIGSTOP)
}
