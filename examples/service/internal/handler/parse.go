// Package handler connects the routes with the logic. routes.go is goctl's.
package handler

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/zeromicro/go-zero/core/validation"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
)

// maxBody is far more than the longest request needs.
const maxBody = 16 << 10

// parsePath reads the path into req. The only thing to get wrong there is the
// id, and go-zero's message would speak of ranges and of Go types.
func parsePath(r *http.Request, req any) error {
	if err := httpx.ParsePath(r, req); err != nil {
		return apierr.BadRequest("the id must be a positive whole number, not %q", pathvar.Vars(r)["id"])
	}
	return validate(req)
}

// parseBody reads the path and the JSON body into req. It stands in for
// httpx.Parse, which skips a body that is not called application/json (curl -d
// does not) or has no length (Transfer-Encoding: chunked), and lets unknown
// fields pass, so that a misspelt one would be lost without a word.
func parseBody(r *http.Request, req any) error {
	if err := httpx.ParsePath(r, req); err != nil {
		return parsePath(r, req)
	}
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(req); err != nil {
		return badBody(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return apierr.BadRequest("the body has more than one JSON value")
	}
	return validate(req)
}

// badBody says what is wrong with a body, in terms of JSON rather than of Go.
func badBody(err error) error {
	var wrongType *json.UnmarshalTypeError
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, io.EOF):
		return apierr.BadRequest("the body is empty: it must be a JSON object")
	case errors.As(err, &tooLong):
		return apierr.BadRequest("the body is longer than %d bytes", maxBody)
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return apierr.BadRequest("the body must be a JSON object, not %s", wrongType.Value)
	case errors.As(err, &wrongType):
		return apierr.BadRequest("%s has the wrong type: %s", wrongType.Field, wrongType.Value)
	default:
		return apierr.BadRequest("bad JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

func validate(req any) error {
	if v, ok := req.(validation.Validator); ok {
		return v.Validate()
	}
	return nil
}
