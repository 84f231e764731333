package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// A reminder is logged once, when it is due, with the last text and at the last time
// that were set. One that was removed is not.
func TestReminders(t *testing.T) {
	r := start(t, nil)
	begin := time.Now()
	r.remind("tea", "1h", "the tea is ready")
	r.remind("soup", "1h", "the soup is ready")
	r.remind("cake", "2s", "the cake is ready")
	r.remind("late", "2s", "not yet")
	r.want("DELETE", "/reminders/cake", "", 204, "")
	r.want("DELETE", "/reminders/cake", "", 404, `{"error":"there is no reminder \"cake\""}`)
	r.remind("late", "1h", "")
	// Later than those would have been.
	r.remind("tea", "2500ms", "the second tea is ready") // set anew
	r.remind("soup", "2500ms", "")                       // moved

	eventually(t, "the reminders are given", func() bool {
		return r.reminded("tea", "the second tea is ready") > 0 && r.reminded("soup", "the soup is ready") > 0
	})
	if took := time.Since(begin); took < 2500*time.Millisecond {
		t.Errorf("after %v", took)
	}
	r.want("POST", "/reminders/tea", `{"in":"1h"}`, 404, `{"error":"there is no reminder \"tea\" to move: a new one needs a text"}`)
	if got, want := r.wheel(), (wheelStats{Name: "reminders", Pending: 1, Started: 4, Removed: 1, Fired: 2}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	r.stop()
	if err := r.svcCtx.Reminders.SetTimer("tea", "", time.Hour); !errors.Is(err, timingwheel.ErrClosed) {
		t.Errorf("after the end a reminder can be set: %v", err)
	}
	for id, want := range map[string]int{"tea": 1, "soup": 1, "cake": 0, "late": 0} {
		if n := r.logs.lines("reminder %q", id); n != want {
			t.Errorf("reminder %s was given %d times, want %d", id, n, want)
		}
	}
	if r.logs.lines("reminders lost, as they were not due yet: 1") != 1 {
		t.Error("nothing tells of the one that was lost")
	}
}

func TestRemindersHaveALimit(t *testing.T) {
	r := start(t, func(c *config.Config) { c.Reminders.Limit = 2 })
	r.remind("a", "1h", "a")
	r.remind("b", "1h", "b")
	r.want("POST", "/reminders/c", `{"in":"1h","text":"c"}`, 429, `{"error":"there are 2 reminders, and no more than that"}`)
	r.remind("b", "2h", "another")
	r.do("DELETE", "/reminders/a", "")
	r.remind("c", "1h", "c")
}

// remind sets a reminder, or moves it if there is no text.
func (r *running) remind(id, in, text string) {
	r.t.Helper()
	body := fmt.Sprintf(`{"in":%q}`, in)
	if text != "" {
		body = fmt.Sprintf(`{"in":%q,"text":%q}`, in, text)
	}
	begin := time.Now().Truncate(time.Second)
	var resp types.SetReminderResp
	r.decode("POST", "/reminders/"+id, body, &resp)
	delay, err := time.ParseDuration(in)
	if err != nil {
		r.t.Fatal(err)
	}
	if due, err := time.Parse(time.RFC3339, resp.Due); resp.ID != id || err != nil || due.Before(begin.Add(delay).Truncate(time.Second)) {
		r.t.Errorf("reminder %s in %s: %+v, %v", id, in, resp, err)
	}
}

// reminded returns how often a reminder was given.
func (r *running) reminded(id, text string) int { return r.logs.lines("reminder %q: %s", id, text) }

// wheel returns the statistics of the timing wheel.
func (r *running) wheel() wheelStats {
	r.t.Helper()
	var all allStats
	r.getJSON("/cache/stats.json", &all)
	if len(all.Wheels) != 1 {
		r.t.Fatalf("wheels: %+v", all.Wheels)
	}
	return all.Wheels[0]
}
