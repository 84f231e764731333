// Command service is a small go-zero REST service that shows pinwheel at work:
// users from an embedded database through a cache, sessions that are kept alive
// by beats and reported when they go silent, and the statistics of both.
//
//	go run ./examples/service -load 500/s
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/handler"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// closeTime bounds how long the caches are waited for at the end.
const closeTime = 3 * time.Second

func main() {
	o := parseOptions(os.Args[1:])
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// run serves until a signal, and then lets go of everything: it returns when the
// port and the database are free for the next one.
func run(o options) (err error) {
	c, err := o.config()
	if err != nil {
		return err
	}
	if err := canListen(c); err != nil {
		return err
	}
	svcCtx, err := svc.NewServiceContext(c)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err = errors.Join(err, svcCtx.Close(ctx))
	}()
	server, err := newServer(c, svcCtx)
	if err != nil {
		return err
	}
	defer server.Stop()
	serve(server, svcCtx, o)
	return nil
}

// newServer returns a server with all routes, which answers all errors in JSON.
func newServer(c config.Config, svcCtx *svc.ServiceContext) (*rest.Server, error) {
	var server *rest.Server
	server, err := rest.NewServer(c.RestConf,
		rest.WithNotFoundHandler(http.HandlerFunc(handler.NotFound)),
		rest.WithNotAllowedHandler(handler.NotAllowed(func() []rest.Route { return server.Routes() })))
	if err != nil {
		return nil, err
	}
	httpx.SetErrorHandlerCtx(apierr.Handle)
	handler.RegisterHandlers(server, svcCtx)
	return server, nil
}
