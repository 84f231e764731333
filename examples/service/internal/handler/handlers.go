// Package handler connects the routes with the logic. goctl generated routes.go, and would have
// a file for each of the functions here.
package handler

import (
	"context"
	"net/http"

	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/logic"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// GetUserHandler serves GET /users/:id.
func GetUserHandler(svcCtx *svc.ServiceContext) http.HandlerFunc {
	return handle(svcCtx, logic.GetUser)
}

// PutUserHandler serves PUT /users/:id.
func PutUserHandler(svcCtx *svc.ServiceContext) http.HandlerFunc {
	return handle(svcCtx, logic.PutUser)
}

// DeleteUserHandler serves DELETE /users/:id.
func DeleteUserHandler(svcCtx *svc.ServiceContext) http.HandlerFunc {
	return handle(svcCtx, logic.DeleteUser)
}

// BeatHandler serves POST /sessions/:id/beat.
func BeatHandler(svcCtx *svc.ServiceContext) http.HandlerFunc {
	return handle(svcCtx, logic.Beat)
}

// handle answers requests by do, whose response may be nil. A request that cannot be read is the
// caller's error.
func handle[Req, Resp any](svcCtx *svc.ServiceContext, do func(context.Context, *svc.ServiceContext, *Req) (*Resp, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if err := httpx.Parse(r, &req); err != nil {
			httpx.ErrorCtx(r.Context(), w, apierr.BadRequest(err))
			return
		}
		resp, err := do(r.Context(), svcCtx, &req)
		switch {
		case err != nil:
			httpx.ErrorCtx(r.Context(), w, err)
		case resp == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			httpx.OkJsonCtx(r.Context(), w, resp)
		}
	}
}
