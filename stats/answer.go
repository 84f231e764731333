package stats

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
)

// turns bounds how many answers the process computes at once: each holds a token in it.
var turns = make(chan struct{}, 2)

// chunk is how many bytes of an answer are computed before they are sent.
const chunk = 32 << 10

// answer sends what write writes, compressed if the client accepts gzip. It sends chunks
// while write runs, so a long answer takes little memory.
func answer(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	zipped := acceptsGzip(r)
	if zipped {
		header.Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		return
	}
	t := &turn{ctx: r.Context(), to: w}
	if t.take() != nil {
		return // the client is gone
	}
	defer t.leave()
	// An error means that the client is gone.
	chunks := bufio.NewWriterSize(t, chunk)
	if !zipped {
		if write(chunks) == nil {
			_ = chunks.Flush()
		}
		return
	}
	zip := gzips.Get().(*gzip.Writer)
	defer gzips.Put(zip)
	zip.Reset(chunks)
	if write(zip) == nil && zip.Close() == nil {
		_ = chunks.Flush()
	}
}

// gzips are reused, since each takes a megabyte.
var gzips = sync.Pool{New: func() any {
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the only error is a bad level
	return zip
}}

// acceptsGzip reports whether the client accepts gzip; with "gzip;q=0" it does not.
func acceptsGzip(r *http.Request) bool {
	for _, accepted := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(accepted, ",") {
			name, quality, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, q, _ := strings.Cut(quality, "=")
				return strings.Trim(q, "0. ") != "" || strings.TrimSpace(quality) == ""
			}
		}
	}
	return false
}

// A turn is the right to compute an answer. It is given up while a chunk is sent, which
// may take long with a slow client.
type turn struct {
	ctx  context.Context
	to   io.Writer
	held bool
}

// take waits for the turn, until the client is gone.
func (t *turn) take() error {
	select {
	case turns <- struct{}{}:
		t.held = true
		return nil
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

func (t *turn) leave() {
	if t.held {
		<-turns
		t.held = false
	}
}

// Write sends a chunk.
func (t *turn) Write(p []byte) (int, error) {
	t.leave()
	n, err := t.to.Write(p)
	if err == nil {
		err = t.take()
	}
	return n, err
}
