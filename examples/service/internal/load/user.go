package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
)

// Of 100 requests, how many write a user, are beats of a session, are about a
// reminder, write or delete a guest, and read a guest. The others read a user.
const (
	putShare       = 3
	beatShare      = 5
	reminderShare  = 3
	guestShare     = 1
	readGuestShare = 1
)

// zipfExponent is in the range measured for web traffic: a tenth of the users
// gets more than four fifths of the requests.
const zipfExponent = 1.1

// expected are the responses that are no failure.
var expected = []int{http.StatusOK, http.StatusNoContent, http.StatusNotFound}

// user sends one request after another. It is for one goroutine.
type user struct {
	target   string
	users    int
	guests   int
	client   *http.Client
	sessions *sessions
	rand     *rand.Rand
	zipf     *rand.Zipf
}

func newUser(c Config, client *http.Client, s *sessions) *user {
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	return &user{
		target:   c.Target,
		users:    c.Users,
		guests:   c.Guests,
		client:   client,
		sessions: s,
		rand:     r,
		zipf:     rand.NewZipf(r, zipfExponent, 1, uint64(c.Users-1)),
	}
}

// act sends one request.
func (u *user) act() error {
	n := u.rand.IntN(100)
	in := func(share int) bool { n -= share; return n < 0 }
	switch {
	case in(putShare):
		return u.put(u.id())
	case in(beatShare):
		return u.do(http.MethodPost, "/sessions/"+u.sessions.next()+"/beat", nil)
	case in(reminderShare):
		return u.remind()
	case u.guests > 0 && in(guestShare):
		return u.changeGuest()
	case u.guests > 0 && in(readGuestShare):
		return u.do(http.MethodGet, userPath(u.guest()), nil)
	default:
		return u.do(http.MethodGet, userPath(u.id()), nil)
	}
}

func (u *user) id() int64 { return int64(u.zipf.Uint64()) + 1 }

func (u *user) guest() int64 { return int64(u.users) + 1 + u.rand.Int64N(int64(u.guests)) }

func userPath(id int64) string { return fmt.Sprintf("/users/%d", id) }

// put moves a user to another city.
func (u *user) put(id int64) error {
	return u.send(http.MethodPut, userPath(id), model.Sample(id, u.rand.Int64N(1000)))
}

func (u *user) changeGuest() error {
	if u.rand.IntN(2) == 0 {
		return u.put(u.guest())
	}
	return u.do(http.MethodDelete, userPath(u.guest()), nil)
}

// send sends a request with a JSON body.
func (u *user) send(method, path string, content any) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return u.do(method, path, body)
}

// do sends a request and reads the whole response, so that the connection can be
// reused. It has no context: a load that stops lets its requests finish. A user that
// does not exist is no failure.
func (u *user) do(method, path string, body []byte) error {
	req, err := http.NewRequest(method, u.target+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
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
