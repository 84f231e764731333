//go:build !unix

package redistest

import "errors"

// Pause needs the signals of Unix.
func (s *Server) Pause() error { return errors.ErrUnsupported }

// Resume needs the signals of Unix.
func (s *Server) Resume() error { return errors.ErrUnsupported }
