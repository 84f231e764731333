// Package apierr turns errors into the response of every failed request: a status code
// and {"error": "..."}.
package apierr

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/zeromicro/go-zero/core/logx"
)

// statusClientClosedRequest is what nginx and go-zero log when the client left.
const statusClientClosedRequest = 499

// Error is an error of the caller, with its status code.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return e.Message }

// Body is the JSON of a failed request.
type Body struct {
	Error string `json:"error"`
}

// BadRequest returns an error that is answered with 400.
func BadRequest(format string, args ...any) error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// NotFound returns an error that is answered with 404.
func NotFound(format string, args ...any) error {
	return &Error{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// TooMany returns an error that is answered with 429.
func TooMany(format string, args ...any) error {
	return &Error{http.StatusTooManyRequests, fmt.Sprintf(format, args...)}
}

// Handle is for [httpx.SetErrorHandlerCtx]. Any other error than an [Error] is the service's
// own: it is logged, and the caller gets no details.
func Handle(ctx context.Context, err error) (int, any) {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code, Body{e.Message}
	case errors.Is(err, context.Canceled):
		return statusClientClosedRequest, Body{"the client closed the request"}
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, Body{"the request took too long"}
	default:
		logx.WithContext(ctx).Errorf("request failed: %v", err)
		return http.StatusInternalServerError, Body{"internal error"}
	}
}
