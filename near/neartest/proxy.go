package neartest

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A Proxy passes connections on to a server, and simulates faults of the network. (Shopify's toxiproxy hangs for ever
// when a connection ends while a fault is removed.) Its methods are safe for concurrent use.
type Proxy struct {
	Addr string // where it listens: host and port

	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	to       string      // where new connections go
	troubles [2]*trouble // by direction
	conns    map[*net.TCPConn]bool
	closed   bool
}

// A Direction is one of a connection, or both.
type Direction int

const (
	ToServer Direction = 1 << iota
	FromServer
	BothWays = ToServer | FromServer
)

// A trouble is a fault under way.
type trouble struct {
	fault Fault
	over  chan struct{} // closed at its end
}

// A Fault returns a function for each connection and direction, which handles its data: it may pass it on by write, and
// wait until over is closed. An error resets the connection.
type Fault func(over <-chan struct{}, write func([]byte) error) func(data []byte) error

// NewProxy listens on a free port of this machine, for a server at host and port.
func NewProxy(to string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: listener.Addr().String(), listener: listener, to: to, conns: map[*net.TCPConn]bool{}}
	p.serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { p.serve(client.(*net.TCPConn)) })
		}
	})
	return p, nil
}

// Close ends all connections, and waits until that is done. A fault that was begun must be over.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.serving.Wait()
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
	p.serving.Go(func() { p.carry(0, client, server) })
	p.carry(1, server, client)
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

// Turn leads new connections to another server. The old ones stay, but for about half of them if cut is true.
func (p *Proxy) Turn(to string, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	for conn := range p.conns { // both ends of each connection
		if cut && rand.N(4) == 0 {
			conn.Close()
		}
	}
}

// carry passes on the data of one direction until a connection ends, and ends the other.
func (p *Proxy) carry(direction int, from, to *net.TCPConn) {
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

func (p *Proxy) trouble(direction int) *trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.troubles[direction]
}

// Begin has all connections suffer a fault, until over is called. It replaces one that was begun before.
func (p *Proxy) Begin(f Fault, d Direction) (over func()) {
	now := &trouble{f, make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.troubles {
		if d&(1<<i) != 0 {
			p.troubles[i] = now
		}
	}
	return sync.OnceFunc(func() { p.end(now) })
}

func (p *Proxy) end(over *trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, now := range p.troubles {
		if now == over {
			p.troubles[i] = nil
		}
	}
	close(over.over)
}

// ErrCut is what a [Fault] returns to reset a connection.
var ErrCut = errors.New("neartest: cut")

// Faults returns the faults of this package by their names.
func Faults() map[string]Fault {
	return map[string]Fault{
		"Cut": Cut, "Stall": Stall, "Pause": Pause, "Delay": Delay, "Pieces": Pieces, "Truncate": Truncate,
	}
}

// Cut resets connections.
func Cut(<-chan struct{}, func([]byte) error) func([]byte) error {
	return func([]byte) error { return ErrCut }
}

// Stall is silence, as of a connection that is half open: data is lost, and the connections are reset at the end.
func Stall(over <-chan struct{}, _ func([]byte) error) func([]byte) error {
	return func([]byte) error { <-over; return ErrCut }
}

// Pause is silence after which all data arrives.
func Pause(over <-chan struct{}, write func([]byte) error) func([]byte) error {
	return func(data []byte) error { <-over; return write(data) }
}

// Delay has data arrive up to 60 ms later.
func Delay(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
	return func(data []byte) error { time.Sleep(rand.N(60 * time.Millisecond)); return write(data) }
}

// Pieces has data arrive slowly, a few bytes at a time.
func Pieces(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
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
}

// Truncate resets connections after 1000 bytes, in the middle of a message.
func Truncate(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
	left := 1000
	return func(data []byte) error {
		n := min(left, len(data))
		left -= n
		if err := write(data[:n]); err != nil {
			return err
		}
		if left == 0 {
			return ErrCut
		}
		return nil
	}
}
