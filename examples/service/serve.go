package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/proc"
	"github.com/zeromicro/go-zero/core/service"
	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/load"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// drainTime bounds how long the server waits for connections at the end. A
// browser opens some that it never uses, and Shutdown alone would wait 5 s for
// each of them to become idle.
const drainTime = time.Second

// guests is the number of users who come and go.
const guests = 200

// canListen returns an error if a port is not free. Start would panic then.
func canListen(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// giveUpBusyDevServer disables the DevServer if its port is not free, for example
// because another service runs. go-zero would log the error and go on too.
func giveUpBusyDevServer(c *service.DevServerConfig) {
	if !c.Enabled {
		return
	}
	if err := canListen(c.Host, c.Port); err != nil {
		fmt.Printf("no DevServer: %v (settings for -f can give it another port)\n", err)
		c.Enabled = false
	}
}

// serve runs the server, and the load if there is one, until a signal. go-zero
// catches the signals itself when it is imported. It first calls the wrap-up
// listeners, where the load stops, and after Shutdown.WrapUpTime the shutdown
// listeners, where the server stops and package gozero closes the caches. Start
// returns when they have ended.
func serve(server *rest.Server, svcCtx *svc.ServiceContext, o options) {
	var loads sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	defer loads.Wait()
	defer stop()
	proc.AddWrapUpListener(stop)

	server.StartWithOpts(func(s *http.Server) {
		// http.Server calls this once, when it has begun to listen.
		s.BaseContext = func(l net.Listener) context.Context {
			base := "http://" + localAddr(l.Addr())
			welcome(base, svcCtx, o)
			if o.outage > 0 {
				loads.Go(func() { takeTurns(ctx, svcCtx.Store, o.outage, os.Stdout) })
			}
			if o.load > 0 {
				loads.Go(func() { load.Run(ctx, loadConfig(base, svcCtx, o)) })
			}
			return context.Background()
		}
		proc.AddShutdownListener(func() {
			time.AfterFunc(drainTime, func() { _ = s.Close() }) // the program ends: no use for the error
		})
	})
}

func loadConfig(base string, svcCtx *svc.ServiceContext, o options) load.Config {
	c := load.Config{Target: base, Rate: o.load, Users: svc.SeedUsers, Guests: guests, Out: os.Stdout, Stats: svcCtx.UserCache.Stats}
	if o.outage > 0 {
		c.Guests = 0 // a user who was never read has no value that could stand in
	}
	return c
}

// localAddr returns the address at which this machine reaches a listener: the loopback
// address if it listens on all addresses.
func localAddr(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// welcome prints the addresses of the service, and requests to try.
func welcome(base string, svcCtx *svc.ServiceContext, o options) {
	c := svcCtx.Config
	fmt.Printf("pinwheel example service at %s, with users in %s\n\n", base, svcCtx.Store.Path())
	fmt.Printf("  at most %d of them in the cache, for %v; a read of the others takes %v more on average\n", c.Users.Limit, c.Users.Expire, c.DatabaseDelay)
	if o.outage > 0 {
		fmt.Printf("  the database works for %v, then hangs or fails for %v, in turn; meanwhile cached users stand in\n", o.outage, o.outage)
	}
	if d := c.DevServer; d.Enabled {
		fmt.Printf("  the DevServer has http://%s%s\n", net.JoinHostPort(d.Host, strconv.Itoa(d.Port)), d.MetricsPath)
	}
	fmt.Print("\n", strings.ReplaceAll(toTry, "BASE", base), "\n")
	if o.load > 0 {
		fmt.Printf("%v against itself; Ctrl-C stops all\n\n", &o.load)
	} else {
		fmt.Print("no load: start with -load 500/s to see the numbers move; Ctrl-C stops it\n\n")
	}
}

const toTry = `  statistics        BASE/cache/   (also stats.json and metrics)
  read a user       curl BASE/users/1
  delete one        curl -X DELETE BASE/users/2
  keep a session    curl -X POST BASE/sessions/me/beat   (the log says when it went silent)
  purge a key       curl BASE/cache/purge -d 'cache=users&key=1'
`
