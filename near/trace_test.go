package near_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// A tape has the spans of a Tracer, in the order in which they began.
type tape struct {
	mu  sync.Mutex
	all []*span
}

type span struct {
	near.Span
	near.SpanEnd
	began, ended time.Time
	parent, link *span
}

type spanKey struct{}

func spanOf(ctx context.Context) *span {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(spanKey{}).(*span)
	return s
}

// trace is a Tracer.
func (r *tape) trace(ctx context.Context, of near.Span) (context.Context, func(near.SpanEnd)) {
	s := &span{Span: of, began: of.Began, parent: spanOf(ctx), link: spanOf(of.Load)}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if of.Background {
		s.parent, s.link = nil, s.parent
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
	return context.WithValue(ctx, spanKey{}, s), func(end near.SpanEnd) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !s.ended.IsZero() {
			panic("a span ends twice")
		}
		s.SpanEnd, s.ended = end, time.Now()
	}
}

// run runs f within a span of the program.
func (r *tape) run(ctx context.Context, name string, f func(ctx context.Context)) {
	ctx, end := r.trace(ctx, near.Span{Name: name})
	defer end(near.SpanEnd{})
	f(ctx)
}

// take returns the spans since the last take, each with those within it, as in "load fetched (read query write)".
func (r *tape) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.children(nil)
	r.all = nil
	return text
}

// within returns the spans within that of a context.
func (r *tape) within(ctx context.Context) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimPrefix(r.children(spanOf(ctx)), " ")
}

// list returns all spans.
func (r *tape) list() []*span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *tape) children(of *span) string {
	var all []string
	for _, s := range r.all {
		if s.parent != of && (of != nil || slices.Contains(r.all, s.parent)) {
			continue
		}
		all = append(all, s.text()+r.children(s))
	}
	if of != nil && len(all) > 0 {
		return " (" + strings.Join(all, " ") + ")"
	}
	return strings.Join(all, " ")
}

func (s *span) text() string {
	text := s.Name
	if s.Keys > 1 {
		text += fmt.Sprintf(" ×%d", s.Keys)
	}
	if s.Fetched > 1 {
		text += fmt.Sprintf(" %d", s.Fetched)
	}
	if s.Outcome != "" {
		text += " " + s.Outcome
	}
	if s.Err != nil {
		text += "!"
	}
	if s.link != nil {
		text += " of " + s.link.Name
	}
	if s.ended.IsZero() {
		text += " runs"
	}
	return text
}

// traced is options with a tape.
func traced(o near.Options[string, string]) (*tape, near.Options[string, string]) {
	r := new(tape)
	o.Tracer = r.trace
	return r, o
}

// TestSpans checks which spans calls make, and what is within them.
func TestSpans(t *testing.T) {
	spans, o := traced(near.Options[string, string]{Name: "traced", Expire: time.Hour, NotFoundExpire: time.Minute, MaxLag: time.Hour})
	inRig(t, o, func(t *testing.T, r *rig) {
		ctx := t.Context()
		fetch := func(ctx context.Context) (string, error) {
			spans.run(ctx, "query", func(context.Context) {})
			return r.fetch(ctx)
		}
		many := func(ctx context.Context, keys []string) (map[string]string, error) {
			spans.run(ctx, "query", func(context.Context) {})
			return map[string]string{keys[0]: "v"}, nil
		}
		take := func() { r.Take(ctx, "k", fetch) }
		for _, step := range []struct {
			what, want string
			do         func()
		}{
			{"a miss", "load fetched (read query write)", take},
			{"a hit", "", take},
			{"Get of what is in memory", "", func() { r.Get(ctx, "k") }},
			{"a value of the store", "load found (read)", func() { r.hand.Changed("k"); take() }},
			{"TakeWithin", "load found (read)", func() { r.TakeWithin(ctx, "k", 0, fetch) }},
			{"Set", "write", func() { r.Set(ctx, "k", "v") }},
			{"Del", "remove", func() { r.Del(ctx, "k") }},
			{"a Get without a value", "load not_found (read)", func() { r.Get(ctx, "k") }},
			{"a fetch without one", "load not_found (read query write)", func() { r.err = near.ErrNotFound; take() }},
			{"that from the store", "load not_found (read)", func() { r.hand.Changed("k"); take() }},
			{"that from memory", "", take},
			{"a value that cannot be decoded", "load fetched (read remove read query write)", func() {
				r.err = nil
				must(t, r.server.Set(ctx, "k", near.Item{State: near.Found, Value: []byte("{")}))
				r.hand.Changed("k")
				take()
			}},
			{"several keys", "load ×4 3 mixed (read ×4 query write write write)", func() {
				r.hand.Changed("k")
				r.TakeMany(ctx, []string{"k", "a", "b", "c"}, many)
			}},
			{"Del of several", "remove ×2", func() { r.Del(ctx, "a", "b") }},
			{"a fetch that fails", "load fetched! (read query release)", func() { r.err = errOfLoad; r.Take(ctx, "a", fetch) }},
			{"one that panics", "load! (read release)", func() {
				defer func() { recover() }()
				r.Take(ctx, "a", func(context.Context) (string, error) { panic("no value") })
			}},
			{"a store that is away", "load fetched (read! query)", func() {
				r.err, r.server.fail = nil, func(string) bool { return true }
				r.Take(ctx, "a", fetch)
			}},
			{"a Get meanwhile", "load! (read!)", func() { r.Get(ctx, "b") }},
		} {
			step.do()
			if got := spans.take(); got != step.want {
				t.Errorf("%s: %q, want %q", step.what, got, step.want)
			}
		}
	})
}

// TestJoinedLoad checks what a Tracer is told of a load that has waited for a place, and of those who wait for it.
func TestJoinedLoad(t *testing.T) {
	spans, o := traced(near.Options[string, string]{Name: "a traced load", MaxLoads: 1, MaxLag: time.Hour})
	inRig(t, o, func(t *testing.T, r *rig) {
		began := time.Now()
		request, end := spans.trace(t.Context(), near.Span{Name: "request"})
		defer end(near.SpanEnd{})
		take := func(ctx context.Context, key string) {
			go r.Take(ctx, key, func(context.Context) (string, error) { time.Sleep(time.Second); return "v", nil })
			synctest.Wait()
		}
		take(request, "other")
		first, leave := context.WithCancel(request)
		take(first, "k")                                                    // and waits for the place
		brief, cancel := context.WithTimeout(request, 100*time.Millisecond) // fake time
		defer cancel()
		take(brief, "k")
		time.Sleep(time.Second / 2)
		take(request, "k")
		leave()
		time.Sleep(time.Minute)
		if got, want := spans.within(request), "(load fetched (read write) join! load fetched (read write) join of load)"; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		var all []*span // without calls of the store
		for _, s := range spans.list() {
			if s.parent == spanOf(request) {
				all = append(all, s)
			}
		}
		for i, want := range []struct{ from, to time.Duration }{{0, time.Second}, {0, time.Second / 10}, {0, 2 * time.Second}, {time.Second / 2, 2 * time.Second}} {
			s := all[i]
			if s.began.Sub(began) != want.from || s.ended.Sub(began) != want.to || s.Cache != "a traced load" || s.Keys != 1 {
				t.Errorf("%+v is from %v to %v, want %v", s.Span, s.began.Sub(began), s.ended.Sub(began), want)
			}
			if s.KeyHash == 0 || (s.KeyHash == all[0].KeyHash) != (i == 0) || i > 0 && s.KeyHash != all[1].KeyHash {
				t.Errorf("%s has the hash %x", s.Name, s.KeyHash)
			}
		}
		if err := all[1].Err; err != context.DeadlineExceeded || all[3].link != all[2] {
			t.Errorf("who has left got %v; who has not joined %+v", err, all[3].link)
		}
	})
}

// TestJoinedBatch checks that a batch is one load, and that who waits for several keys of it has one span.
func TestJoinedBatch(t *testing.T) {
	load := func(ctx context.Context, keys []string, loads []*cache.Load[string]) (map[string]string, error) {
		time.Sleep(time.Second)
		return loadSeveral(ctx, keys, loads)
	}
	spans, o := traced(near.Options[string, string]{MaxLag: time.Hour, Cache: cache.Options[string, string]{LoadMany: load, Batch: time.Millisecond}})
	inRig(t, o, func(t *testing.T, r *rig) {
		go r.Fetch(t.Context(), "a")
		go r.Fetch(t.Context(), "b")
		time.Sleep(time.Second / 2)
		r.FetchMany(t.Context(), []string{"a", "b"})
		time.Sleep(time.Minute)
		if got, want := spans.take(), "load ×2 2 fetched (read ×2 write write) join of load join of load"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestJoinedLoadThatFails checks the errors of a load, and of who waits for it: they do not have its key.
func TestJoinedLoadThatFails(t *testing.T) {
	after := func(d time.Duration, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { time.Sleep(d); return "", err }
	}
	hang := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		time.Sleep(time.Minute) // its callers leave before
		return "", fmt.Errorf("query: %w", context.Cause(ctx))
	}
	for name, c := range map[string]struct {
		first time.Duration // for which the first caller waits
		fetch func(context.Context) (string, error)
		err   error
		want  string
	}{
		"fails":        {time.Hour, after(time.Second, errOfLoad), errOfLoad, "load fetched! (read release) join! of load"},
		"finds none":   {time.Hour, after(time.Second, near.ErrNotFound), nil, "load not_found (read release) join of load"},
		"hangs":        {time.Hour, hang, cache.ErrTimeout, "load fetched! (read release) join! of load"},
		"is abandoned": {time.Second / 4, after(time.Second, errOfLoad), errOfLoad, "load fetched! (read release) join of load load fetched! (read release)"},
	} {
		spans, o := traced(near.Options[string, string]{MaxLag: time.Hour, Cache: cache.Options[string, string]{Timeout: time.Minute}})
		inRig(t, o, func(t *testing.T, r *rig) {
			for _, d := range []time.Duration{c.first, time.Hour} {
				ctx, cancel := context.WithTimeout(t.Context(), d) // fake time
				defer cancel()
				go r.Take(ctx, "secret", c.fetch)
				time.Sleep(time.Second / 2)
			}
			time.Sleep(time.Hour)
			for _, s := range spans.list() {
				if s.Err != nil && (!errors.Is(s.Err, c.err) || strings.Contains(s.Err.Error(), "secret")) {
					t.Errorf("%s: %s: %v, want %v", name, s.Name, s.Err, c.err)
				}
			}
			if got := spans.take(); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

// TestSpanOfARenewal checks that a renewal in the background is no part of the call that has begun it.
func TestSpanOfARenewal(t *testing.T) {
	spans, o := traced(near.Options[string, string]{MaxLag: time.Hour, Cache: cache.Options[string, string]{RefreshAfter: time.Minute}})
	inRig(t, o, func(t *testing.T, r *rig) {
		for range 2 {
			spans.run(t.Context(), "request", func(ctx context.Context) { r.Take(ctx, "k", r.fetch) })
			time.Sleep(time.Minute)
		}
		if got, want := spans.take(), "request (load fetched (read write)) request load found of request (read)"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestSpanOfALease checks the span of a load that waits for another instance.
func TestSpanOfALease(t *testing.T) {
	for want, fetch := range map[string]error{
		"load found (read lease found (read read))":           nil,
		"load fetched (read lease in_vain (read read) write)": errOfLoad,
		"load not_found (read lease not_found (read read))":   near.ErrNotFound,
	} {
		bubble(t, func(t *testing.T) {
			spans, o := traced(near.Options[string, string]{MaxLag: time.Minute, NotFoundExpire: time.Minute})
			all := instances(t, newServer(), 2, o)
			other, end := spans.trace(t.Context(), near.Span{Name: "other"})
			defer end(near.SpanEnd{})
			go all[0].Take(other, "k", func(context.Context) (string, error) { time.Sleep(time.Second); return "v", fetch })
			synctest.Wait()
			waiter, end := spans.trace(t.Context(), near.Span{Name: "waiter"})
			defer end(near.SpanEnd{})
			all[1].Take(waiter, "k", func(context.Context) (string, error) { return "v", nil })
			synctest.Wait()
			if got := spans.within(waiter); got != "("+want+")" {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestSpansOfRemovals checks those of the waits for other instances.
func TestSpansOfRemovals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans, o := traced(near.Options[string, string]{MaxLag: time.Second})
		s := newServer()
		all := instances(t, s, 3, o)
		time.Sleep(time.Minute) // they know each other
		ctx, leave := context.WithCancel(t.Context())
		for _, step := range []struct {
			want string
			do   func()
		}{
			{"remove ×2 fleet ×2 answered", func() { must(t, all[0].Revoke(ctx, "a", "b")) }},
			{"remove fleet answered", func() { must(t, all[0].Clear(ctx)) }},
			{"remove fleet waited", func() {
				s.cut(true)
				must(t, all[0].Revoke(ctx, "a"))
			}},
			{"remove fleet!", func() {
				time.AfterFunc(time.Millisecond, leave)
				all[0].Revoke(ctx, "a")
			}},
		} {
			step.do()
			if got := spans.take(); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
	})
}

// TestHitsHaveNoSpan checks that a Tracer costs hits nothing.
func TestHitsHaveNoSpan(t *testing.T) {
	spans, o := traced(near.Options[string, string]{MaxLag: time.Hour, Cache: cache.Options[string, string]{Load: loadOne}})
	inRig(t, o, func(t *testing.T, r *rig) {
		ctx, fetch := t.Context(), r.fetch
		r.Fetch(ctx, "k")
		spans.take()
		if n := testing.AllocsPerRun(100, func() {
			r.Fetch(ctx, "k")
			r.Get(ctx, "k")
			r.Take(ctx, "k", fetch)
		}); n != 0 || spans.take() != "" {
			t.Errorf("%v allocations, or spans", n)
		}
	})
}
