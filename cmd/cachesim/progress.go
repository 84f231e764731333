package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A progress is a bar on a terminal. The nil progress shows nothing.
type progress struct {
	out  io.Writer
	done atomic.Int64

	stopped chan struct{}
	shown   sync.WaitGroup
}

// newProgress returns a progress with the label what. A total of 0 means unknown. The
// progress is nil unless out is a terminal.
func newProgress(out io.Writer, what string, total int64) *progress {
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	p := &progress{out: out, stopped: make(chan struct{})}
	p.shown.Go(func() { p.show(what, total) })
	return p
}

func (p *progress) add(n int) {
	if p != nil {
		p.done.Add(int64(n))
	}
}

func (p *progress) show(what string, total int64) {
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-p.stopped:
			fmt.Fprint(p.out, "\r\x1b[K")
			return
		case <-ticks.C:
			fmt.Fprintf(p.out, "\r\x1b[K%s", bar(what, p.done.Load(), total))
		}
	}
}

// bar returns the text of a progress.
func bar(what string, done, total int64) string {
	const width = 30
	if total == 0 {
		return fmt.Sprintf("%s: %d MB", what, done>>20)
	}
	done = min(done, total)
	full := int(width * done / total)
	return fmt.Sprintf("%-11s [%s%s] %3d %%", what, strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*done/total)
}

// stop removes the bar.
func (p *progress) stop() {
	if p != nil {
		close(p.stopped)
		p.shown.Wait()
	}
}
