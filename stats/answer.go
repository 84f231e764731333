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

// turns bounds how many answers are computed at once, in the whole process. Whoever
// computes has a token in it.
var turns = make(chan struct{}, 2)

// chunk is how much of an answer is computed before it is sent.
const chunk = 32 << 10

// answer sends what write writes, compressed if the client takes that. It is sent in
// chunks as it is written, so that an answer takes little memory however long it is.
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
		return // the client has gone
	}
	defer t.leave()
	// An error means that the client has gone.
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

// gzips are kept, since each takes a megabyte.
var gzips = sync.Pool{New: func() any {
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the error would be that of the level
	return zip
}}

// acceptsGzip reports whether the client takes gzip. Who writes "gzip;q=0" does not.
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

// A turn is the right to compute an answer. While a chunk is sent, which may take a
// slow client long, another answer may have it.
type turn struct {
	ctx  context.Context
	to   io.Writer
	held bool
}

// take waits for the turn, until the client has gone.
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
