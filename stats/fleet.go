package stats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	peerTimeout = 2 * time.Second // for the whole answer of a peer
	peerAnswer  = 32 << 20        // bytes of it at most
)

// WithFleet has the page show this instance beside others of its service: cache by cache, the
// one that differs most first. Each peer is the address of the page of another instance, as
// "http://10.0.0.7:6061/cache/", perhaps with a user and a password; this instance may be
// among them, so that all can have the same list. WithFleet panics if one is no such address.
// It may be given several times.
//
// A request for fleet.json, which the page makes while it shows the fleet, asks all peers for
// their stats.json. A peer that does not answer within two seconds is shown as away. No
// other address is ever asked, whatever the request says, and redirects are not followed. Who
// may see this page thus sees those of the peers.
func WithFleet(peers ...string) HandlerOption {
	var all []*url.URL
	for _, peer := range peers {
		u, err := url.Parse(peer)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			panic(fmt.Sprintf("stats: WithFleet got %q: want the address of a page, such as http://10.0.0.7:6061/cache/", redacted(peer)))
		}
		u = u.JoinPath("stats.json")
		u.RawQuery, u.Fragment = "", ""
		all = append(all, u)
	}
	return func(h *handler) { h.peers = append(h.peers, all...) }
}

// redacted returns an address without what stands before its @: that may be a password.
func redacted(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}

// A jsonFleet is fleet.json.
type jsonFleet struct {
	Version   int        `json:"version"`
	Instances []jsonPeer `json:"instances"`
}

// A jsonPeer is an instance of a fleet: its stats.json, or why there is none.
type jsonPeer struct {
	Peer  string          `json:"peer"` // host and port of its address; empty for this instance
	Away  string          `json:"away,omitempty"`
	Stats json.RawMessage `json:"stats,omitempty"`
}

// fleet asks all peers at once. It has their answers before it takes the turn of an answer,
// as a peer may be asking this instance.
func (h *handler) fleet(r *http.Request) (func(io.Writer) error, error) {
	own := newHead(h.form(noHistory, r))
	instances := make([]jsonPeer, len(h.peers))
	isOwn := make([]bool, len(h.peers))
	var all sync.WaitGroup
	for i, peer := range h.peers {
		all.Go(func() {
			answer, of, err := ask(r.Context(), peer)
			instances[i] = jsonPeer{Peer: peer.Host, Stats: answer}
			if err != nil {
				instances[i].Away = err.Error()
			}
			isOwn[i] = err == nil && of.same(own)
		})
	}
	all.Wait()
	return func(to io.Writer) error {
		var b strings.Builder
		f := h.form(noHistory, r)
		if err := h.registered.writeJSON(&b, f); err != nil {
			return err
		}
		shown := []jsonPeer{{Stats: json.RawMessage(b.String())}}
		for i, one := range instances {
			if !isOwn[i] {
				shown = append(shown, one)
			}
		}
		return json.NewEncoder(to).Encode(jsonFleet{schemaVersion, shown})
	}, nil
}

// peers is the client for all fleets. A redirect is an answer like any other that is not 200.
var peers = &http.Client{
	Timeout:       peerTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// ask returns the stats.json of a peer, and of which instance it is. The error has no address,
// which may have a password.
func ask(ctx context.Context, peer *url.URL) (answer json.RawMessage, of jsonHead, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, peer.String(), nil)
	if err != nil {
		return nil, of, errors.New("its address cannot be asked")
	}
	response, err := peers.Do(request)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, of, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, of, fmt.Errorf("it answers %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, peerAnswer))
	if err != nil {
		return nil, of, err
	}
	if err := json.Unmarshal(body, &of); err != nil || of.Version != schemaVersion {
		return nil, of, errors.New("its answer is not that of a handler of this version")
	}
	return body, of, nil
}
