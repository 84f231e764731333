// Package types holds what the routes take and give, as goctl made it from
// service.api, and what is checked of it.
package types

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
)

// The longest texts that are accepted, in characters.
const (
	maxField = 200
	maxID    = 64
)

// maxDelay is the longest time to a reminder.
const maxDelay = 7 * 24 * time.Hour

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
func (r *SessionReq) Validate() error { return validateID("session", r.ID) }

// Validate reports the first thing that is wrong with the request.
func (r *ReminderReq) Validate() error { return validateID("reminder", r.ID) }

// Validate reports the first thing that is wrong with the request.
func (r *SetReminderReq) Validate() error {
	if err := validateID("reminder", r.ID); err != nil {
		return err
	}
	if r.Text != "" && strings.TrimSpace(r.Text) == "" {
		return apierr.BadRequest("text is blank")
	}
	if utf8.RuneCountInString(r.Text) > maxField {
		return apierr.BadRequest("text is longer than %d characters", maxField)
	}
	_, err := r.Delay()
	return err
}

// Delay returns the time to the reminder.
func (r *SetReminderReq) Delay() (time.Duration, error) {
	if r.In == "" {
		return 0, apierr.BadRequest("in is missing: it is a time such as 30s")
	}
	d, err := time.ParseDuration(r.In)
	if err != nil || d <= 0 || d > maxDelay {
		return 0, apierr.BadRequest("in must be a time such as 30s or 1h15m, of at most %v, not %q", maxDelay, r.In)
	}
	return d, nil
}

func validateID(what, id string) error {
	if strings.TrimSpace(id) == "" {
		return apierr.BadRequest("the %s id is empty", what)
	}
	if utf8.RuneCountInString(id) > maxID {
		return apierr.BadRequest("the %s id is longer than %d characters", what, maxID)
	}
	return nil
}
