package handler

import (
	"io"
	"net/http"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/logic"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// IndexHandler serves GET / as text for a terminal.
func IndexHandler(svcCtx *svc.ServiceContext) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l := logic.NewIndexLogic(r.Context(), svcCtx)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, l.Index(r.Host)) // it fails when the client has gone
	}
}
