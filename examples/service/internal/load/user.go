package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
)

// Of 100 requests, how many write a user, are beats of a session, write or delete a guest, and
// read a guest. The others read a user.
const (
	putShare       = 3
	beatShare      = 5
	guestShare     = 1
	readGuestShare = 1
)

// Ten sessions get beats at a time. Every three seconds one of them gets no more, and the
// service reports it when its timeout has passed.
const (
	sessions     = 10
	sessionEvery = 3 // seconds
)

// zipfExponent is in the range measured for web traffic: a tenth of the users
// gets more than four fifths of the requests.
const zipfExponent = 1.1

// expected are the responses that are no failure: also that there is no such user.
var expected = []int{http.StatusOK, http.StatusNoContent, http.StatusNotFound}

// user sends one request after another. It is for one goroutine.
type user struct {
	Config
	client *http.Client
	rand   *rand.Rand
	zipf   *rand.Zipf
}

func newUser(c Config, client *http.Client) *user {
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	return &user{c, client, r, rand.NewZipf(r, zipfExponent, 1, uint64(c.Users-1))}
}

// act sends one request.
func (u *user) act() error {
	n := u.rand.IntN(100)
	in := func(share int) bool { n -= share; return n < 0 }
	id := int64(u.zipf.Uint64()) + 1
	switch {
	case in(putShare):
		return u.put(id)
	case in(beatShare):
		session := int(time.Now().Unix())/sessionEvery + u.rand.IntN(sessions)
		return u.do(http.MethodPost, fmt.Sprintf("/sessions/load-%d/beat", session), nil)
	case u.Guests > 0 && in(guestShare):
		if u.rand.IntN(2) == 0 {
			return u.put(u.guest())
		}
		return u.do(http.MethodDelete, userPath(u.guest()), nil)
	case u.Guests > 0 && in(readGuestShare):
		return u.do(http.MethodGet, userPath(u.guest()), nil)
	default:
		return u.do(http.MethodGet, userPath(id), nil)
	}
}

func (u *user) guest() int64 { return int64(u.Users) + 1 + u.rand.Int64N(int64(u.Guests)) }

func userPath(id int64) string { return fmt.Sprintf("/users/%d", id) }

// put moves a user to another city.
func (u *user) put(id int64) error {
	body, err := json.Marshal(model.Sample(id, u.rand.Int64N(1000)))
	if err != nil {
		return err
	}
	return u.do(http.MethodPut, userPath(id), body)
}

// do sends a request and reads the whole response, so that the connection can be
// reused. It has no context: a load that stops lets its requests finish.
func (u *user) do(method, path string, body []byte) error {
	req, err := http.NewRequest(method, u.Target+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := u.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if !slices.Contains(expected, resp.StatusCode) {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return nil
}
