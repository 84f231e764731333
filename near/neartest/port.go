// This file has ports for servers that tests start.

package neartest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// The ports lie below those that a system hands out by itself, as to a connection of another
// test, and leave room for the bus of a Redis Cluster, 10000 above each.
const (
	firstPort = 10_000
	ports     = 10_000
)

// lastPort counts on from a random port, so that no two servers of a process get the same one, and
// those of two processes hardly ever.
var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32()) }

// FreePort returns a port of 127.0.0.1 on which nothing listens, and nothing 10000 above it. The
// next call of this process returns another one. It is safe for concurrent use.
func FreePort() (string, error) {
	for range ports {
		port := firstPort + int(lastPort.Add(1)%ports)
		if free(port) && free(port+ports) {
			return strconv.Itoa(port), nil
		}
	}
	return "", errors.New("neartest: something listens on each port from 10000 to 19999: stop what tests have left running")
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		_ = l.Close() // nothing was accepted
	}
	return err == nil
}
