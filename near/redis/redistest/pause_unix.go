//go:build unix

package redistest

import "syscall"

// Pause stops the process (SIGSTOP): its connections stay open, and silent.
func (s *Server) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
