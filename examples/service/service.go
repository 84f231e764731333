// Command service is a small go-zero REST service that shows pinwheel at work:
// users from an embedded database through a cache, sessions that are kept alive
// by beats and reported when they go silent, and the statistics of both.
//
//	go run -C examples ./service -load 500/s
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/zeromicro/go-zero/core/stat"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/handler"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func main() {
	o := parseOptions(os.Args[1:])
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// run serves until a signal, and then releases everything: when it returns, the port
// and the database are free. It is the main that goctl generates, except that an
// error is printed as a readable line instead of a stack.
func run(o options) (err error) {
	c, err := o.config()
	if err != nil {
		return err
	}
	if err := canListen(c.Host, c.Port); err != nil {
		return fmt.Errorf("%w (does it run already? stop that one, or choose another port with -port)", err)
	}
	ctx, err := svc.NewServiceContext(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ctx.Close()) }()

	if o.outage > 0 {
		if err := warmUp(ctx); err != nil {
			return err
		}
	}
	giveUpBusyDevServer(&ctx.Config.DevServer)
	server, err := newServer(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	gozero.MustRegister() // adds the caches to the DevServer's metrics
	stat.DisableLog()     // leaves only the caches' lines of each minute
	serve(server, ctx, o) // server.Start() and the load
	return nil
}

// newServer returns a server with all routes, which answers errors in JSON.
func newServer(ctx *svc.ServiceContext) (*rest.Server, error) {
	server, err := rest.NewServer(ctx.Config.RestConf)
	if err != nil {
		return nil, err
	}
	httpx.SetErrorHandlerCtx(apierr.Handle)
	handler.RegisterHandlers(server, ctx)
	server.AddRoutes(gozero.Routes(stats.WithOperators(handler.OnlyLocal)), rest.WithPrefix("/cache"))
	return server, nil
}
