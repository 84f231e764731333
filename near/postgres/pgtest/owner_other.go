//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
)

// Signals that end a server. There is only one.
var immediately, fast = os.Kill, os.Kill

func owned(name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

func ownedDir(pattern string) (string, error) { return os.MkdirTemp("", pattern) }

// Pause returns an error: processes cannot be stopped here.
func (s *Server) Pause() (resume func() error, err error) {
	return nil, errors.New("pgtest: servers can be paused on Unix only")
}
