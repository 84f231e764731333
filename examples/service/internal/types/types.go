// Package types holds what the routes take and give, as service.api describes it.
package types

// UserReq is the request of GET and DELETE /users/:id.
type UserReq struct {
	ID int64 `path:"id,range=[1:]"`
}

// PutUserReq is the request of PUT /users/:id.
type PutUserReq struct {
	ID     int64  `path:"id,range=[1:]" json:"-"`
	BodyID int64  `json:"id,omitempty"` // may be left out, so that what GET returned can be sent back
	Name   string `json:"name"`
	Email  string `json:"email,omitempty"`
	City   string `json:"city,omitempty"`
}

// User is a user as the routes return it.
type User struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	City  string `json:"city"`
}

// SessionReq is the request of POST /sessions/:id/beat and DELETE /sessions/:id.
type SessionReq struct {
	ID string `path:"id"`
}

// BeatResp is the answer to POST /sessions/:id/beat.
type BeatResp struct {
	ID      string `json:"id"`
	Created bool   `json:"created"` // this beat opened the session
	Timeout string `json:"timeout"` // without a beat for this long it went silent
}

// SessionsResp is the answer to GET /sessions.
type SessionsResp struct {
	Count    int       `json:"count"`
	Sessions []Session `json:"sessions"` // the first 100 found, in no order
}

// Session is a live session.
type Session struct {
	ID    string `json:"id"`
	Since string `json:"since"` // RFC 3339
}
