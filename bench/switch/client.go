package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

// A client sends requests to a service.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string) *client {
	return &client{url, &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 1000,
			// go-zero closes idle connections after 2.4 s, perhaps while a request is on
			// its way.
			IdleConnTimeout:    time.Second,
			DisableCompression: true,
		},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a request and returns the status and the body. Statuses other than
// 200 and 404 are errors.
func (c *client) send(method, path string) (status int, body []byte, err error) {
	req, err := http.NewRequest(method, c.url+path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, body)
	}
	return resp.StatusCode, body, err
}

var itemMethods = map[traffic.Kind]string{
	traffic.Read:   http.MethodGet,
	traffic.Write:  http.MethodPut,
	traffic.Remove: http.MethodDelete,
}

// item sends a request for an item and returns the version in the answer.
func (c *client) item(kind traffic.Kind, id int) (version int, err error) {
	_, body, err := c.send(itemMethods[kind], "/items/"+strconv.Itoa(id))
	if err != nil {
		return 0, err
	}
	var answer struct{ Version int }
	return answer.Version, json.Unmarshal(body, &answer)
}

// beat sends a heartbeat of a session with a TTL, or with the cache's if it is 0.
func (c *client) beat(id int, ttl time.Duration) error {
	path := "/sessions/" + strconv.Itoa(id) + "/heartbeat"
	if ttl > 0 {
		path += "?ttl_ms=" + strconv.FormatInt(ttl.Milliseconds(), 10)
	}
	status, _, err := c.send(http.MethodPost, path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("POST %s: status %d", path, status)
	}
	return err
}

func (c *client) look(id int) (found bool, err error) {
	status, _, err := c.send(http.MethodGet, "/sessions/"+strconv.Itoa(id))
	return status == http.StatusOK, err
}

// self is what a process reports about itself.
type self struct{ Goroutines, Mallocs, Bytes uint64 }

func (c *client) self() (s self, err error) {
	_, body, err := c.send(http.MethodGet, "/process")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(body, &s)
}
