package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A judge is what a test is to the functions of neartest.
type judge struct {
	testing.TB // nil: for its unexported method
	out        io.Writer
	ctx        context.Context
	stop       context.CancelFunc

	mu       sync.Mutex
	failed   bool
	cleanups []func()
}

func newJudge(out io.Writer) *judge {
	ctx, stop := context.WithCancel(context.Background())
	return &judge{out: out, ctx: ctx, stop: stop}
}

// A given is what Fatal panics with.
type given struct{}

// try calls f, which Fatal ends.
func (j *judge) try(f func()) {
	defer func() {
		if r := recover(); r != nil && r != (given{}) {
			panic(r)
		}
	}()
	f()
}

// cleanUp calls what Cleanup was given, the last first.
func (j *judge) cleanUp() {
	j.stop()
	for _, f := range slices.Backward(j.cleanups) {
		f()
	}
	j.cleanups = nil
}

func (j *judge) Helper() {}

func (j *judge) Context() context.Context { return j.ctx }

func (j *judge) Cleanup(f func()) { j.cleanups = append(j.cleanups, f) }

func (j *judge) Log(args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintln(j.out, "neartest: "+strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

func (j *judge) Logf(format string, args ...any) { j.Log(fmt.Sprintf(format, args...)) }

func (j *judge) Error(args ...any) {
	j.Log(args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = true
}

func (j *judge) Errorf(format string, args ...any) { j.Error(fmt.Sprintf(format, args...)) }

func (j *judge) Fatal(args ...any) {
	j.Error(args...)
	panic(given{})
}

func (j *judge) Fatalf(format string, args ...any) { j.Fatal(fmt.Sprintf(format, args...)) }

func (j *judge) Failed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// check is Fatal if there is an error, and note is Error.
func (j *judge) check(err error) {
	if err != nil {
		j.Fatal(err)
	}
}

func (j *judge) note(err error) {
	if err != nil {
		j.Error(err)
	}
}
