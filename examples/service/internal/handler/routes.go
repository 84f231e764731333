// Package handler connects the routes with the logic.
package handler

import (
	"net/http"

	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// RegisterHandlers adds the routes of service.api to server.
func RegisterHandlers(server *rest.Server, svcCtx *svc.ServiceContext) {
	server.AddRoutes([]rest.Route{
		{Method: http.MethodGet, Path: "/", Handler: IndexHandler()},

		{Method: http.MethodGet, Path: "/users/:id", Handler: GetUserHandler(svcCtx)},
		{Method: http.MethodPut, Path: "/users/:id", Handler: PutUserHandler(svcCtx)},
		{Method: http.MethodDelete, Path: "/users/:id", Handler: DeleteUserHandler(svcCtx)},

		{Method: http.MethodGet, Path: "/sessions", Handler: ListSessionsHandler(svcCtx)},
		{Method: http.MethodPost, Path: "/sessions/:id/beat", Handler: BeatHandler(svcCtx)},
		{Method: http.MethodDelete, Path: "/sessions/:id", Handler: EndSessionHandler(svcCtx)},
	})

	// The page and what it refers to. go-zero's router takes /cache and /cache/
	// for the same path.
	stats := StatsHandler()
	server.AddRoutes([]rest.Route{
		{Method: http.MethodGet, Path: "/cache", Handler: stats},
		{Method: http.MethodGet, Path: "/cache/style.css", Handler: stats},
		{Method: http.MethodGet, Path: "/cache/stats.json", Handler: stats},
		{Method: http.MethodGet, Path: "/cache/metrics", Handler: stats},
	})
}
