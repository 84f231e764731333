package redis_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// A resp is a proxy in front of Redis that understands its protocol: it can lose only the
// messages about changes.
type resp struct {
	addr string
	to   string
	drop func() bool // whether to lose a message

	mu      sync.Mutex
	all     map[net.Conn]bool // the open connections, and whether each has reported a change
	closed  bool
	serving sync.WaitGroup
}

func newResp(t *testing.T, to string, drop func() bool) *resp {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &resp{addr: l.Addr().String(), to: to, drop: drop, all: map[net.Conn]bool{}}
	p.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		for conn := range p.all {
			conn.Close()
		}
		p.mu.Unlock()
		p.serving.Wait()
	})
	return p
}

// cutWatches closes the connections that have reported changes.
func (p *resp) cutWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, watch := range p.all {
		if watch {
			conn.Close()
		}
	}
}

func (p *resp) add(conn net.Conn, watch bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[conn] = watch; p.closed {
		conn.Close()
	}
}

func (p *resp) serve(client net.Conn) {
	defer client.Close()
	p.add(client, false)
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, client)
	}()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	p.serving.Go(func() {
		_, _ = io.Copy(server, client) // until one of them is closed
		server.Close()
	})
	for from := bufio.NewReader(server); ; {
		value, err := readValue(from, nil)
		if err != nil {
			return
		}
		if value[0] == '>' && bytes.Contains(value, []byte("invalidate")) {
			p.add(client, true)
			if p.drop() {
				continue
			}
		}
		if _, err := client.Write(value); err != nil {
			return
		}
	}
}

// readValue appends a value of RESP3 to those before it.
func readValue(r *bufio.Reader, before []byte) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	value := append(before, line...)
	size, parts := 0, 0
	switch line[0] {
	case '$', '=', '!', '*', '~', '>', '%':
		if size, err = strconv.Atoi(string(bytes.TrimSpace(line[1:]))); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	switch line[0] {
	case '$', '=', '!':
		if size >= 0 {
			data := make([]byte, size+2)
			if _, err := io.ReadFull(r, data); err != nil {
				return nil, err
			}
			value = append(value, data...)
		}
	case '*', '~', '>':
		parts = size
	case '%':
		parts = 2 * size
	}
	for range parts {
		if value, err = readValue(r, value); err != nil {
			return nil, err
		}
	}
	return value, nil
}
