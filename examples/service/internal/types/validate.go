package types

import (
	"strings"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
)

// The longest texts that are accepted, in characters.
const (
	maxField   = 200
	maxSession = 64
)

// Validate reports the first thing that is wrong with the request. go-zero's
// validation.Validator has this shape.
func (r *PutUserReq) Validate() error {
	if r.BodyID != 0 && r.BodyID != r.ID {
		return apierr.BadRequest("the body is user %d, the path is user %d", r.BodyID, r.ID)
	}
	if strings.TrimSpace(r.Name) == "" {
		return apierr.BadRequest("name is missing")
	}
	for _, f := range []struct{ name, value string }{
		{"name", r.Name}, {"email", r.Email}, {"city", r.City},
	} {
		if utf8.RuneCountInString(f.value) > maxField {
			return apierr.BadRequest("%s is longer than %d characters", f.name, maxField)
		}
	}
	if r.Email != "" && !strings.Contains(r.Email, "@") {
		return apierr.BadRequest("email has no @")
	}
	return nil
}

// Validate reports the first thing that is wrong with the request.
func (r *SessionReq) Validate() error {
	if strings.TrimSpace(r.ID) == "" {
		return apierr.BadRequest("the session id is empty")
	}
	if utf8.RuneCountInString(r.ID) > maxSession {
		return apierr.BadRequest("the session id is longer than %d characters", maxSession)
	}
	return nil
}
