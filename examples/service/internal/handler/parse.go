// Package handler connects the routes with the logic. goctl generated routes.go.
package handler

import (
	"net/http"

	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
)

// parse reads a request, whose errors are the caller's.
func parse(r *http.Request, req any) error {
	if err := httpx.Parse(r, req); err != nil {
		return apierr.BadRequest(err)
	}
	return nil
}
