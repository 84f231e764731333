package stats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// recordable registers a cache whose recordings have the arguments of the request.
func recordable(r *stats.Registry, name string) {
	r.Add(sources.Cache[stats.Snapshot]{Name: name, Snapshot: always(stats.Snapshot{}), Record: func(ctx context.Context, w io.Writer, oneIn int) error {
		if oneIn == 13 {
			return errors.New("being recorded already")
		}
		begin := time.Now()
		_, _ = fmt.Fprintf(w, "%s, one in %d", name, oneIn)
		<-ctx.Done()
		_, err := fmt.Fprintf(w, ", %v", time.Since(begin))
		return err
	}})
}

func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		recordable(&r, "users")
		h := r.Handler(stats.WithOperators(anybody))
		for _, test := range []struct {
			body, want string
			stays      time.Duration // the client
		}{
			{"cache=users", "users, one in 64, 1m0s", time.Hour},
			{"cache=users&seconds=5&one_in=1", "users, one in 1, 5s", time.Hour},
			{"cache=users", "users, one in 64, 3s", 3 * time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), test.stays)
			w := answered(h, purge{target: "/cache/record", body: test.body}.request().WithContext(ctx))
			cancel()
			if w.Code != http.StatusOK || w.Body.String() != test.want || w.Header().Get("Content-Type") != "application/octet-stream" ||
				!strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") || !w.Flushed {
				t.Errorf("%+v: status %d, %s, %v", test, w.Code, w.Body, w.Header())
			}
			checkSafe(t, "record", w.Header())
		}
	})
}

// pipes is a listener whose connections are pipes, for fake time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }

// TestRecordEndsWithAReaderThatStalls: a client that reads no more holds the cache, of which
// there is one recording at a time, for a minute at most. One that reads slowly, and a cache
// without accesses, are no reason to end.
func TestRecordEndsWithAReaderThatStalls(t *testing.T) {
	for _, reads := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			ended := make(chan error, 1)
			r.Add(sources.Cache[stats.Snapshot]{Name: "users", Snapshot: always(stats.Snapshot{}), Record: func(ctx context.Context, w io.Writer, _ int) (err error) {
				defer func() { ended <- err }()
				for err == nil && ctx.Err() == nil {
					_, err = w.Write(make([]byte, 1000))
					time.Sleep(10 * time.Minute)
				}
				return err
			}})
			listener := make(pipes, 1)
			server := &http.Server{Handler: r.Handler(stats.WithOperators(anybody)), WriteTimeout: time.Second, ReadHeaderTimeout: time.Minute}
			served := make(chan struct{})
			go func() { defer close(served); _ = server.Serve(listener) }()
			client, connection := net.Pipe()
			listener <- connection
			body := "cache=users&seconds=3600"
			_, err := fmt.Fprintf(client, "POST /record HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			must(t, err)
			var reader sync.WaitGroup
			if reads {
				reader.Go(func() {
					for err := error(nil); err == nil; time.Sleep(10 * time.Second) {
						_, err = client.Read(make([]byte, 1000))
					}
				})
			}
			time.Sleep(12 * time.Minute)
			if got := len(ended) == 1; got == reads {
				t.Errorf("it ended: %t; the client reads: %t", got, reads)
			}
			time.Sleep(time.Hour)
			must(t, client.Close())
			reader.Wait()
			if err := <-ended; (err == nil) != reads {
				t.Errorf("it ended with %v; the client reads: %t", err, reads)
			}
			close(listener)
			must(t, server.Close())
			<-served
		})
	}
}

// TestRecordRefuses: record refuses what purge refuses, and what cannot be recorded.
func TestRecordRefuses(t *testing.T) {
	var r stats.Registry
	recordable(&r, "users")
	newPurgeable(1).register(&r, "plain")
	nobody := func(*http.Request) error { return errors.New("nobody may") }
	for _, test := range []struct {
		purge
		authorize func(*http.Request) error
		status    int
		want      string
	}{
		{purge{body: "cache=users"}, nobody, 403, "nobody may"},
		{purge{method: "GET"}, anybody, 405, "want POST"},
		{purge{body: "cache=users", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, anybody, 403, "cross-origin"},
		{purge{body: "cache=orders"}, anybody, 404, `there is no cache "orders"`},
		{purge{body: "cache=plain"}, anybody, 400, `cache "plain" cannot be recorded`},
		{purge{body: "cache=users&seconds=0"}, anybody, 400, `seconds is "0": want a number from 1 to 3600`},
		{purge{body: "cache=users&seconds=3601"}, anybody, 400, `seconds is "3601"`},
		{purge{body: "cache=users&one_in=x"}, anybody, 400, `one_in is "x": want a number from 1 to 1048576`},
		{purge{body: "cache=users&one_in=13"}, anybody, 409, "being recorded already"},
	} {
		test.target = "/cache/record"
		w := test.send(r.Handler(stats.WithOperators(test.authorize)))
		var answer map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != test.status || !strings.Contains(answer["error"], test.want) {
			t.Errorf("%+v: status %d, %s\nwant %d, %s", test.purge, w.Code, w.Body, test.status, test.want)
		}
	}
	if w := (purge{target: "/cache/record", body: "cache=users"}).send(r.Handler()); w.Code != http.StatusNotFound {
		t.Errorf("without WithOperators: status %d", w.Code)
	}
}
