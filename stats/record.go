package stats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// stallTimeout is how long a client may take nothing of a recording. As a cache has one
// recording at a time, a client that stalls keeps others from it.
const stallTimeout = time.Minute

// serveRecord streams a recording of a cache.
func serveRecord(w http.ResponseWriter, r *http.Request, name string, c sources.Cache[Snapshot]) *refusal {
	if c.Record == nil {
		return refuse(http.StatusBadRequest, "cache %q cannot be recorded", name)
	}
	seconds, err := numberOf(r, "seconds", 60, 3600)
	oneIn, err2 := numberOf(r, "one_in", 64, 1<<20)
	if err := cmp.Or(err, err2); err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	out := &flushed{w: w, to: http.NewResponseController(w)}
	out.allow(0) // a server may have a write timeout that is too short for this answer
	err = c.Record(ctx, out, oneIn)
	out.allow(stallTimeout) // for what the server writes at the end
	if err != nil && !out.begun {
		return refuse(http.StatusConflict, "%v", err)
	}
	return nil
}

// numberOf returns a field of the form, a number from 1 to most, or its default.
func numberOf(r *http.Request, field string, otherwise, most int) (int, error) {
	text := r.PostForm.Get(field)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s is %q: want a number from 1 to %d", field, text, most)
	}
	return n, nil
}

// flushed flushes after each write, and names the answer as a file to download. A write
// fails if the client does not take it.
type flushed struct {
	w     http.ResponseWriter
	to    *http.ResponseController
	begun bool
}

// allow lets writes take some time, from now on; 0 means any.
func (f *flushed) allow(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = f.to.SetWriteDeadline(deadline) // not all can
}

func (f *flushed) Write(p []byte) (int, error) {
	if !f.begun {
		f.begun = true
		f.w.Header().Set("Content-Type", "application/octet-stream")
		f.w.Header().Set("Content-Disposition", `attachment; filename="cache.recording"`)
	}
	f.allow(stallTimeout)
	n, err := f.w.Write(p)
	if err == nil {
		// Without Flush all is sent at the end.
		if err = f.to.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	if err == nil {
		f.allow(0) // until the next write, or HTTP/2 would end the answer meanwhile
	}
	return n, err
}
