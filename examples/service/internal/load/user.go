package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
)

// Of 100 requests, how many write a user and how many are beats of a session;
// the others read a user.
const (
	putShare  = 3
	beatShare = 5
)

// zipfExponent is in the range measured for web traffic: a tenth of the users
// gets more than four fifths of the requests.
const zipfExponent = 1.1

// user makes one request after the other. It is for one goroutine.
type user struct {
	target   string
	client   *http.Client
	sessions *sessions
	rand     *rand.Rand
	zipf     *rand.Zipf
}

func newUser(c Config, client *http.Client, s *sessions) *user {
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	return &user{
		target:   c.Target,
		client:   client,
		sessions: s,
		rand:     r,
		zipf:     rand.NewZipf(r, zipfExponent, 1, uint64(c.Users-1)),
	}
}

// act makes one request.
func (u *user) act() error {
	switch n := u.rand.IntN(100); {
	case n < putShare:
		return u.put()
	case n < putShare+beatShare:
		return u.do(http.MethodPost, "/sessions/"+u.sessions.next()+"/beat", nil)
	default:
		return u.do(http.MethodGet, fmt.Sprintf("/users/%d", u.id()), nil)
	}
}

func (u *user) id() int64 { return int64(u.zipf.Uint64()) + 1 }

// put moves a user to another city.
func (u *user) put() error {
	changed := model.Sample(u.id(), u.rand.Int64N(1000))
	body, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return u.do(http.MethodPut, fmt.Sprintf("/users/%d", changed.ID), body)
}

// do makes a request and reads the whole answer, so that the connection can be
// used again. It ends by itself and not by a context: a load that stops lets the
// service finish what it asked for. A user who was deleted by hand is no failure.
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
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return nil
}
