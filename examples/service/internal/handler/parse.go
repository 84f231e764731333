// Package handler connects the routes with the logic. goctl generated routes.go.
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

// parsePath reads the path into req. Only the id can be wrong there; go-zero's message
// for it would mention ranges and Go types.
func parsePath(r *http.Request, req any) error {
	if err := httpx.ParsePath(r, req); err != nil {
		return apierr.BadRequest("the id must be a positive whole number, not %q", pathvar.Vars(r)["id"])
	}
	return validate(req)
}

// parseBody reads the path and the JSON body into req. It replaces httpx.Parse, which
// skips a body whose type is not application/json (as that of curl -d) or that has no
// length (Transfer-Encoding: chunked), and silently ignores unknown fields, so that a
// misspelt one would be lost.
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

// badBody returns an error about a body, in terms of JSON rather than of Go.
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
