package stats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

const (
	peersAtOnce   = 8
	peerTimeout   = 2 * time.Second
	fleetTimeout  = 2500 * time.Millisecond // of all peers: a route of go-zero has 3 s
	maxPeerAnswer = 8 << 20                 // bytes: some thousand caches
)

// WithPeers makes the page also compare the caches of this process with those of other instances of
// the service. peers returns the addresses of their pages, such as "http://10.0.0.7:8080/cache/"; the
// own one may be among them. It is called for each request, by several goroutines at once, and has
// two seconds: it may look into DNS. Nil is no option.
//
// The handler asks each of them for stats.json, eight at a time, each for two seconds and all for two
// and a half, and shows the answers to all who may see the page; so take no address from a request. It
// uses no proxy, and a redirect is an error. A user and a password are in the address, as in
// "http://ops:secret@10.0.0.7/", and are not shown; nothing of the request is passed on but its queries
// cache=NAME.
func WithPeers(peers func(context.Context) ([]string, error)) HandlerOption {
	if peers == nil {
		return nil
	}
	return func(h *handler) {
		h.fleet = &fleet{peers, make(chan struct{}, peersAtOnce), http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
}

// A fleet asks the peers.
type fleet struct {
	peers  func(context.Context) ([]string, error)
	asking chan struct{} // has a token for each peer that is asked now
	client http.Client
}

type jsonFleet struct {
	Error     string         `json:"error"` // of the list
	Instances []jsonInstance `json:"instances"`
}

type jsonInstance struct {
	Peer  string `json:"peer"` // address of the page, without a user; "" of this process, if it is not in the list
	Self  bool   `json:"self"`
	Error string `json:"error"` // why it has not answered; without what may be secret
	peerAnswer
}

// A peerAnswer has some fields of stats.json, under the same names. Those that an older version does
// not have are 0.
type peerAnswer struct {
	Host    string `json:"host"`
	Program string `json:"program"`
	Process struct {
		PID      int       `json:"pid"`
		Version  string    `json:"version"`
		Started  string    `json:"started"`
		Findings []finding `json:"findings"`
	} `json:"process"`
	Caches []peerCache `json:"caches"`
}

type peerCache struct {
	Name     string    `json:"name"`
	Entries  float64   `json:"entries"`
	Limit    float64   `json:"limit"`
	Findings []finding `json:"findings"`
	Windows  struct {
		Minute map[string]float64 `json:"1m"`
	} `json:"windows"`
}

// serveFleet asks the peers before the answer begins, as few answers may be computed at once.
func (h *handler) serveFleet(r *http.Request) (func(io.Writer) error, error) {
	h.registered.keepHistory()
	ctx, cancel := context.WithTimeout(r.Context(), peerTimeout)
	defer cancel()
	pages, err := h.fleet.peers(ctx)
	answer := jsonFleet{withoutSecrets(err), make([]jsonInstance, len(pages))}
	ctx, cancel = context.WithTimeout(r.Context(), fleetTimeout)
	defer cancel()
	query := url.Values{"cache": r.URL.Query()["cache"]}
	var all sync.WaitGroup
	for i, page := range pages {
		all.Go(func() { answer.Instances[i] = h.fleet.ask(ctx, page, query.Encode()) })
	}
	all.Wait()
	return func(to io.Writer) error {
		var own bytes.Buffer
		err := h.registered.writeJSON(&own, form{selection: newSelection(query), points: -1})
		return errors.Join(err, answer.addSelf(&own), json.NewEncoder(to).Encode(answer))
	}, nil
}

// addSelf adds this process, whose stats.json is given, or marks the peer that is this process.
func (f *jsonFleet) addSelf(own io.Reader) error {
	self := jsonInstance{Self: true}
	err := json.NewDecoder(own).Decode(&self.peerAnswer)
	p := self.Process
	known := false
	for i := range f.Instances {
		other := &f.Instances[i]
		q := other.Process
		other.Self = p.PID != 0 && q.PID == p.PID && q.Started == p.Started && other.Host == self.Host
		known = known || other.Self
	}
	if !known {
		f.Instances = append(f.Instances, self)
	}
	return err
}

// ask returns the row of a peer.
func (f *fleet) ask(ctx context.Context, page, query string) (row jsonInstance) {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		row.Error = "an address of the list is none of http or https"
		return row
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: cmp.Or(u.Path, "/"), RawPath: u.RawPath}
	asked := shown.JoinPath("stats.json")
	asked.User, asked.RawQuery = u.User, query
	row.Peer, row.Error = shown.String(), "not asked, as others took too long"
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return row
	}
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	row.Error = f.get((&http.Request{URL: asked}).WithContext(ctx), &row.peerAnswer)
	return row
}

// get returns what is wrong, or "".
func (f *fleet) get(r *http.Request, into *peerAnswer) string {
	answer, err := f.client.Do(r)
	if err != nil {
		return withoutSecrets(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Sprintf("status %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return withoutSecrets(json.NewDecoder(http.MaxBytesReader(nil, answer.Body, maxPeerAnswer)).Decode(into))
}

// withoutSecrets returns a text of an error, or "" for nil: its own may have an address with a password.
func withoutSecrets(err error) string {
	var system *os.SyscallError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in " + span(peerTimeout)
	case errors.As(err, &system):
		return system.Error() // such as "connect: connection refused"
	}
	return typeOf(err)
}
