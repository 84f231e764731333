package redis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A link is a proxy between the instances and Redis that simulates network faults. (Shopify's
// toxiproxy hangs for ever when a connection ends while a fault is removed.)
type link struct {
	addr    string
	serving sync.WaitGroup

	mu       sync.Mutex
	to       string      // where new connections go
	troubles [2]*trouble // by direction
	conns    map[*net.TCPConn]bool
	closed   bool
}

// Directions of a link.
const (
	toRedis = iota
	fromRedis
)

// A trouble is a fault under way.
type trouble struct {
	fault fault
	over  chan struct{} // closed at its end
}

// A fault returns a function that handles the data of a connection: it may pass it on by
// write. An error resets the connection.
type fault func(over <-chan struct{}, write func([]byte) error) func(data []byte) error

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	l := &link{addr: listener.Addr().String(), to: to, conns: map[*net.TCPConn]bool{}}
	l.serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.serving.Go(func() { l.serve(client.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		l.closed = true
		for conn := range l.conns {
			conn.Close()
		}
		l.mu.Unlock()
		inTime(t, "the end of the proxy", l.serving.Wait)
	})
	return l
}

func (l *link) serve(client *net.TCPConn) {
	defer l.drop(client)
	l.mu.Lock()
	to := l.to
	l.mu.Unlock()
	conn, err := net.DialTimeout("tcp", to, maxLag)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer l.drop(server)
	if !l.keep(client, server) {
		return
	}
	l.serving.Go(func() { l.carry(toRedis, client, server) })
	l.carry(fromRedis, server, client)
}

func (l *link) keep(conns ...*net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.conns[conn] = true
	}
	return !l.closed
}

func (l *link) drop(conn *net.TCPConn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// turn leads new connections to another server, and cuts about half of the old ones.
func (l *link) turn(to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
	for conn := range l.conns { // both ends of each connection
		if rand.N(4) == 0 {
			conn.Close()
		}
	}
}

// carry passes on the data of one direction until a connection ends, and ends the other.
func (l *link) carry(direction int, from, to *net.TCPConn) {
	defer to.Close()
	defer from.Close()
	write := func(data []byte) error { _, err := to.Write(data); return err }
	var now *trouble
	pass, data := write, make([]byte, 1<<15)
	for {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if t := l.trouble(direction); t != now {
			now, pass = t, write
			if t != nil {
				pass = t.fault(t.over, write)
			}
		}
		if pass(data[:n]) != nil {
			_, _ = from.SetLinger(0), to.SetLinger(0)
			return
		}
	}
}

func (l *link) trouble(direction int) *trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.troubles[direction]
}

// suffer applies a fault to some directions for a while.
func (l *link) suffer(f fault, directions []int, during time.Duration) {
	now := &trouble{f, make(chan struct{})}
	l.set(directions, now)
	time.Sleep(during)
	l.set(directions, nil)
	close(now.over)
}

func (l *link) set(directions []int, now *trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, direction := range directions {
		l.troubles[direction] = now
	}
}

var (
	errCut   = errors.New("cut")
	bothWays = []int{toRedis, fromRedis}
)

// networkFaults are faults of one direction of a connection, or of both.
var networkFaults = []struct {
	name  string
	fault fault
}{
	{"cut", func(<-chan struct{}, func([]byte) error) func([]byte) error {
		return func([]byte) error { return errCut }
	}},
	{"stall", func(over <-chan struct{}, _ func([]byte) error) func([]byte) error {
		return func([]byte) error { <-over; return errCut }
	}},
	{"stall and go on", func(over <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error { <-over; return write(data) }
	}},
	{"slow", func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error { time.Sleep(rand.N(60 * time.Millisecond)); return write(data) }
	}},
	{"halve", func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error {
			for len(data) > 0 {
				n := min(8+rand.N(16), len(data))
				if err := write(data[:n]); err != nil {
					return err
				}
				data = data[n:]
				time.Sleep(50 * time.Microsecond)
			}
			return nil
		}
	}},
	{"end in the middle", func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		left := 1000
		return func(data []byte) error {
			n := min(left, len(data))
			left -= n
			if err := write(data[:n]); err != nil {
				return err
			}
			if left == 0 {
				return errCut
			}
			return nil
		}
	}},
}

// TestNetworkFaults breaks the way of the instances to Redis and back, each alone. Writers use
// another way.
//
// Catches: a silent connection that is trusted for longer than MaxLag, a broken one that is
// not replaced, answers and changes that overtake each other, messages in pieces.
func TestNetworkFaults(t *testing.T) {
	for _, c := range networkFaults {
		for name, directions := range map[string][]int{"to": {toRedis}, "from": {fromRedis}, "both": bothWays} {
			if *rounds == 1 && c.name != "stall" && name != "from" {
				continue
			}
			eachMode(t, c.name+"/"+name, []string{"stall/from", "halve/from"}, func(t *testing.T, args []string) {
				s := server(t, args...)
				l := newLink(t, s.Addr)
				f := newFleet(t, redis.Options{}, l.addr)
				f.runWith(t, f.foreignDel(t, s), func() {
					for range *rounds {
						time.Sleep(rand.N(maxLag / 2))
						l.suffer(c.fault, directions, 3*maxLag/2)
					}
				})
				f.verdict(t)
			})
		}
	}
}

// TestSwitchedAddress lets the address of the instances lead to another server, and back, while
// both servers run. A write counts when both have removed the copy.
//
// Catches: an instance that reads from one server and watches the other.
func TestSwitchedAddress(t *testing.T) {
	t.Parallel()
	s, other := server(t), server(t)
	l := newLink(t, s.Addr)
	f := newFleet(t, redis.Options{}, l.addr)
	here, there := f.foreignDel(t, s), f.foreignDel(t, other)
	f.runWith(t, func(ctx context.Context, instance, key int) error {
		return errors.Join(here(ctx, instance, key), there(ctx, instance, key))
	}, func() {
		for range 4 * *rounds {
			s, other = other, s
			l.turn(s.Addr)
			time.Sleep(2 * maxLag)
		}
	})
	f.verdict(t)
}
