// Package apierr turns errors into the response of a failed request: a status code and
// {"error": "..."}.
package apierr

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/zeromicro/go-zero/core/logx"
)

// A callers is an error of the caller, with its status code.
type callers struct {
	error
	code int
}

// body is the JSON of a failed request.
type body struct {
	Error string `json:"error"`
}

// BadRequest returns an error that is answered with 400.
func BadRequest(err error) error { return callers{err, http.StatusBadRequest} }

// NotFound returns an error that is answered with 404.
func NotFound(format string, args ...any) error {
	return callers{fmt.Errorf(format, args...), http.StatusNotFound}
}

// Handle is for httpx.SetErrorHandlerCtx. An error that is not the caller's is the service's
// own: it is logged, and the caller gets no details.
func Handle(ctx context.Context, err error) (int, any) {
	var of callers
	switch {
	case errors.As(err, &of):
		return of.code, body{of.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, body{"the request took too long"}
	default:
		logx.WithContext(ctx).Errorf("request failed: %v", err)
		return http.StatusInternalServerError, body{"internal error"}
	}
}
