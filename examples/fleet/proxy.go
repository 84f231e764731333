package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A proxy leads connections to a server over a network, for clients that dial by themselves.
type proxy struct {
	listener net.Listener
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// serve starts a proxy to a server.
func (n *network) serve(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &proxy{listener: l, stop: stop}
	p.all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { n.forward(ctx, client, to) })
		}
	})
	return p, nil
}

func (p *proxy) close() {
	p.listener.Close()
	p.stop()
	p.all.Wait()
}

// forward copies what the two ends of a connection say until one of them ends.
func (n *network) forward(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := n.dial(ctx, to, &net.Dialer{Timeout: time.Second}, nil)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })()
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		defer client.Close()
		_, _ = io.Copy(client, server) // the end of one is that of the other
	})
	_, _ = io.Copy(server, client)
	server.Close()
}
