//go:build !unix

package mysqltest

import "errors"

// Pause returns an error: processes cannot be stopped here.
func (s *Server) Pause() (resume func() error, err error) {
	return nil, errors.New("mysqltest: servers can be paused on Unix only")
}
