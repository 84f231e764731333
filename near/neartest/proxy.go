package neartest

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy is between instances and a server, and simulates faults of the network. (Shopify's
// toxiproxy hangs for ever when a connection ends while a fault is removed.)
type Proxy struct {
	Addr string

	serving sync.WaitGroup

	mu       sync.Mutex
	to       string      // the address of the server
	troubles [2]*trouble // by direction
	conns    map[*net.TCPConn]bool
	closed   bool
}

// A Direction of a Proxy.
type Direction int

// Directions of a Proxy.
const (
	ToServer Direction = iota
	FromServer
)

// A trouble is a fault under way.
type trouble struct {
	fault Fault
	over  chan struct{} // closed at its end
}

// A Fault returns a function that handles the data of a connection: it may pass it on by
// write. An error resets the connection. over is closed when the fault ends.
type Fault func(over <-chan struct{}, write func([]byte) error) func(data []byte) error

// NewProxy returns a proxy before the address of a server, which ends after the test.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: listener.Addr().String(), to: to, conns: map[*net.TCPConn]bool{}}
	p.serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { p.serve(client.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		p.closed = true
		for conn := range p.conns {
			conn.Close()
		}
		p.mu.Unlock()
		InTime(t, "the end of the proxy", p.serving.Wait)
	})
	return p
}

// Lead has connections from now on go to another server, as a failover does. Those that are open
// stay.
func (p *Proxy) Lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

func (p *Proxy) serve(client *net.TCPConn) {
	defer p.drop(client)
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	conn, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer p.drop(server)
	if !p.keep(client, server) {
		return
	}
	p.serving.Go(func() { p.carry(ToServer, client, server) })
	p.carry(FromServer, server, client)
}

func (p *Proxy) keep(conns ...*net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.conns[conn] = true
	}
	return !p.closed
}

func (p *Proxy) drop(conn *net.TCPConn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// carry passes on the data of one direction until a connection ends, and ends the other.
func (p *Proxy) carry(direction Direction, from, to *net.TCPConn) {
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
		if t := p.trouble(direction); t != now {
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

func (p *Proxy) trouble(direction Direction) *trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.troubles[direction]
}

// Suffer applies a fault to some directions for a while.
func (p *Proxy) Suffer(f Fault, during time.Duration, directions ...Direction) {
	now := &trouble{f, make(chan struct{})}
	p.set(directions, now)
	time.Sleep(during)
	p.set(directions, nil)
	close(now.over)
}

func (p *Proxy) set(directions []Direction, now *trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, direction := range directions {
		p.troubles[direction] = now
	}
}

var errCut = errors.New("cut")

// Faults are those of one direction of a connection, or of both, by name.
var Faults = map[string]Fault{
	"cut": func(<-chan struct{}, func([]byte) error) func([]byte) error {
		return func([]byte) error { return errCut }
	},
	"stall": func(over <-chan struct{}, _ func([]byte) error) func([]byte) error {
		return func([]byte) error { <-over; return errCut }
	},
	"stall and go on": func(over <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error { <-over; return write(data) }
	},
	"slow": func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error { time.Sleep(rand.N(60 * time.Millisecond)); return write(data) }
	},
	"halve": func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
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
	},
	"end in the middle": func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
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
	},
}
