package main

import (
	"fmt"
	"strings"
	"time"
)

// start is the zero of the clock of now.
var start = time.Now()

// now returns the nanoseconds since start.
func now() int64 { return int64(time.Since(start)) }

// A kind is what happened to a key.
type kind uint8

// The kinds up to load offer a value.
const (
	set kind = iota
	getOrSet
	compute
	load
	attempt
	touch
	del
	expire
	cleared
	report
)

var kindNames = [...]string{"Set", "GetOrSet", "Compute", "load", "Compute", "Touch", "Del", "Expire", "Clear", "OnRemove"}

func (k kind) String() string { return kindNames[k] }

// fenced reports whether a later change of the key cancels a change of this kind.
func (k kind) fenced() bool { return k == compute || k == load || k == attempt }

// overtakes reports whether a change of this kind keeps the loads of before from being stored.
func (k kind) overtakes() bool { return k <= cleared && k != load && k != touch }

// A step is how far an operation has got.
type step uint8

const (
	began step = iota
	ended
	gaveUp // and nothing was stored
	called
)

var stepNames = [...]string{"began", "ended", "stored nothing", "was called"}

// An event is one line of the history of a key.
type event struct {
	at     int64
	number uint64 // of the value, 0 if there is none
	arg    int64  // the TTL, or the cause
	kind   kind
	step   step
}

func (e event) String() string {
	s := fmt.Sprintf("%14.6f s  %s %s", time.Duration(e.at).Seconds(), e.kind, stepNames[e.step])
	if e.number != 0 {
		s += fmt.Sprintf(", value %d", e.number)
	}
	switch {
	case e.kind == report:
		s += fmt.Sprintf(", cause %d", e.arg)
	case e.arg != 0:
		s += fmt.Sprintf(", for %v", time.Duration(e.arg))
	}
	return s
}

// A history has the last events of a key.
type history struct {
	events [12]event
	n      int
}

func (h *history) note(e event) {
	h.events[h.n%len(h.events)] = e
	h.n++
}

// String returns the events, the oldest first.
func (h *history) String() string {
	var b strings.Builder
	for i := max(0, h.n-len(h.events)); i < h.n; i++ {
		fmt.Fprintln(&b, h.events[i%len(h.events)])
	}
	return b.String()
}
