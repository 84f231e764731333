package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A violation is a promise that was not kept.
type violation struct {
	Phase   string
	Subject string // the cache, goroutines, heap or statistics
	What    string
	Detail  string
}

func (v *violation) print(w io.Writer, seed uint64) {
	fmt.Fprintf(w, "\nVIOLATION in phase %s, seed %d, of %s:\n  %s\n", v.Phase, seed, v.Subject, v.What)
	if v.Detail != "" {
		fmt.Fprintln(w, v.Detail)
	}
}

// A failure keeps the first violation, and ends the run.
type failure struct {
	patience time.Duration // how long to wait for what must happen eventually

	once  sync.Once
	first chan struct{} // closed at the first violation
	it    *violation

	mu    sync.Mutex
	phase string
}

func newFailure(patience time.Duration) *failure {
	return &failure{patience: patience, first: make(chan struct{})}
}

// enter names the phase that violations belong to from now on.
func (f *failure) enter(phase string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.phase = phase
}

// report keeps the violation if it is the first. It may be called concurrently.
func (f *failure) report(v violation) {
	f.once.Do(func() {
		f.mu.Lock()
		v.Phase = f.phase
		f.mu.Unlock()
		f.it = &v
		close(f.first)
	})
}

// eventually calls what until it returns "", for as long as patience. It returns the last
// answer.
func eventually(f *failure, what func() string) string {
	wrong := what()
	for wait, end := time.Millisecond, now()+f.patience; wrong != "" && f.found() == nil && now() < end; wrong = what() {
		time.Sleep(wait)
		wait = min(2*wait, 100*time.Millisecond)
	}
	return wrong
}

// found returns the violation, or nil.
func (f *failure) found() *violation {
	select {
	case <-f.first:
		return f.it
	default:
		return nil
	}
}
