package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

// A closable is a client that can only be closed.
type closable struct {
	rueidis.Client
	closed int
}

func (c *closable) Close() { c.closed++ }

// Catches: a client that is closed while it is used, or never, or twice.
func TestReplacedClient(t *testing.T) {
	first, second := &closable{}, &closable{}
	r := &Redis{stop: func() {}}
	r.clients.replace(&client{Client: first})
	a, _ := r.clients.use()
	b, _ := r.clients.use()
	if !r.clients.replace(&client{Client: second}) || first.closed != 0 {
		t.Error("closed while two use it")
	}
	if c, err := r.clients.use(); err != nil || c.Client != second {
		t.Errorf("%v, %v instead of the new one", c, err)
	} else {
		r.clients.done(c)
	}
	if r.clients.done(a); first.closed != 0 {
		t.Error("closed while one uses it")
	}
	if r.clients.done(b); first.closed != 1 || second.closed != 0 {
		t.Errorf("closed %d and %d times, when nobody used the first any more", first.closed, second.closed)
	}
	r.Close()
	r.Close()
	if _, err := r.clients.use(); second.closed != 1 || !errors.Is(err, errClosed) {
		t.Errorf("after Close: closed %d times, and %v", second.closed, err)
	}
	// Catches: a connection that a client has lost, and that stays for ever.
	one, other := net.Pipe()
	of := &client{Client: &closable{}}
	if _, err := of.conns.own(one); err != nil {
		t.Fatal(err)
	}
	of.Close()
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection of a closed client: %v", err)
	}
	late, other := net.Pipe()
	if _, err := of.conns.own(late); err == nil {
		t.Error("a closed client has dialed")
	}
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("what it has dialed: %v", err)
	}
	third := &closable{}
	if r.clients.replace(&client{Client: third}) {
		t.Error("a closed one was opened again")
	}
}

// A probe is an error and a connection of the user. It calls f where code of the user runs.
type probe struct {
	net.Conn
	f func()
}

func (p probe) Error() string { p.f(); return "probe" }
func (p probe) Close() error  { p.f(); return nil }

// Catches: an error or a connection of the user's dialer that is called under a lock, and waits for
// ever if it uses the Redis.
func TestCodeOfTheUserRunsWithoutALock(t *testing.T) {
	called := 0
	free := func(mu *sync.Mutex) func() {
		return func() {
			if called++; !mu.TryLock() {
				t.Error("called under a lock")
				return
			}
			mu.Unlock()
		}
	}
	var c clients
	c.ended(probe{f: free(&c.mu)})
	if _, err := c.use(); !errors.Is(err, errUnconnected) {
		t.Error(err)
	}
	var of conns
	conn := probe{f: free(&of.mu)}
	_, _ = of.own(conn)
	of.close()
	_, _ = of.own(conn)
	if called != 3 {
		t.Errorf("called %d times, want 3", called)
	}
}

// Catches: a script that was changed without its name.
func TestNamesOfScripts(t *testing.T) {
	for _, s := range []script{leaseScript, fillScript, releaseScript, setScript, delScript, enrollScript, membersScript, withdrawScript} {
		if sum := sha1.Sum([]byte(s.text)); s.sha != hex.EncodeToString(sum[:]) {
			t.Errorf("the SHA-1 of this script is %x, not %s:%s", sum, s.sha, s.text)
		}
	}
}
