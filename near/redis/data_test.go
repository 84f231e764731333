package redis

import (
	"errors"
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
	r := &Redis{}
	w := newWatched(nil)
	r.replace(&data{Client: first, from: w})
	a, _ := r.use()
	b, _ := r.use()
	if !r.replace(&data{Client: second, from: w}) || first.closed != 0 {
		t.Error("closed while two use it")
	}
	if c, err := r.use(); err != nil || c.Client != second {
		t.Errorf("%v, %v instead of the new one", c, err)
	} else {
		r.done(c)
	}
	if r.done(a); first.closed != 0 {
		t.Error("closed while one uses it")
	}
	if r.done(b); first.closed != 1 || second.closed != 0 {
		t.Errorf("closed %d and %d times, when nobody used the first any more", first.closed, second.closed)
	}
	r.Close()
	r.Close()
	if _, err := r.use(); second.closed != 1 || !errors.Is(err, errClosed) {
		t.Errorf("after Close: closed %d times, and %v", second.closed, err)
	}
	third := &closable{}
	if r.replace(&data{Client: third, from: w}) {
		t.Error("a closed one was opened again")
	}
}
