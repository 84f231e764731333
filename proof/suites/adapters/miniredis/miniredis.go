// Package miniredis has the names of github.com/alicebob/miniredis/v2 that tests use, on top
// of a real redis-server: miniredis does not push changes to clients.
package miniredis

import (
	"errors"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// A Miniredis is a server.
type Miniredis struct{ server *redistest.Server }

// ErrKeyNotFound is what Get returns for a key that is not there.
var ErrKeyNotFound = errors.New("ERR no such key")

// Run starts a server.
func Run() (*Miniredis, error) {
	s, err := redistest.Start()
	return &Miniredis{s}, err
}

func (m *Miniredis) Addr() string { return m.server.Addr }
func (m *Miniredis) Close()       { m.server.Stop() }

// Set stores a value.
func (m *Miniredis) Set(key, value string) error {
	_, err := m.server.Do("SET", key, value)
	return err
}

// Get returns the value of a key.
func (m *Miniredis) Get(key string) (string, error) {
	reply, err := m.server.Do("GET", key)
	if rueidis.IsRedisNil(err) {
		return "", ErrKeyNotFound
	}
	if err != nil {
		return "", err
	}
	return reply.ToString()
}

// SetError makes all commands that read or write keys fail, with an error of the server's.
func (m *Miniredis) SetError(string) {
	if _, err := m.server.Do("ACL", "SETUSER", "default", "-@read", "-@write"); err != nil {
		panic(err)
	}
}
