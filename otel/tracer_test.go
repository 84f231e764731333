package otelpinwheel_test

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

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
)

// A traced has a provider whose spans a test sees, and near caches that use it.
type traced struct {
	t        *testing.T
	ended    *tracetest.SpanRecorder
	provider *trace.TracerProvider
	store    *memory.Store
}

// inTrace runs a test in fake time.
func inTrace(t *testing.T, test func(t *testing.T, r *traced)) {
	synctest.Test(t, func(t *testing.T) {
		r := &traced{t: t, ended: tracetest.NewSpanRecorder(), store: memory.New()}
		r.provider = trace.NewTracerProvider(trace.WithSpanProcessor(r.ended))
		defer r.provider.Shutdown(context.Background())
		test(t, r)
	})
}

func (r *traced) cache(o near.Options[string, string]) *near.Cache[string, string] {
	r.t.Helper()
	o.Name, o.MaxLag, o.Tracer = "users", time.Hour, otelpinwheel.NewTracer(r.provider)
	c, err := near.New(r.store, r.store, o)
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, c.Close(context.Background())) })
	synctest.Wait()
	return c
}

// span runs f within a span of the program.
func (r *traced) span(name string, f func(ctx context.Context)) {
	ctx, span := r.provider.Tracer("test").Start(r.t.Context(), name)
	defer span.End()
	f(ctx)
}

// fetch returns a function that makes a query of a second, with a result.
func (r *traced) fetch(err error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		_, span := r.provider.Tracer("test").Start(ctx, "query")
		defer span.End()
		time.Sleep(time.Second)
		return "v", err
	}
}

// take returns the spans that have ended since the last take, each with those within it, in the order in which they began.
func (r *traced) take() (text string, all tracetest.SpanStubs) {
	synctest.Wait()
	all = tracetest.SpanStubsFromReadOnlySpans(r.ended.Ended())
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	r.ended.Reset()
	return within(all, api.SpanContext{}), all
}

func within(all tracetest.SpanStubs, parent api.SpanContext) string {
	var texts []string
	for _, s := range all {
		if s.Parent.SpanID() != parent.SpanID() {
			continue
		}
		text := s.Name
		if inner := within(all, s.SpanContext); inner != "" {
			text += " (" + inner + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// TestSpans checks which spans calls make, and what is within them.
func TestSpans(t *testing.T) {
	inTrace(t, func(t *testing.T, r *traced) {
		c, other := r.cache(near.Options[string, string]{NotFoundExpire: time.Minute}), r.cache(near.Options[string, string]{})
		take := func(c *near.Cache[string, string], key string, err error) {
			r.span("request", func(ctx context.Context) { c.Take(ctx, key, r.fetch(err)) })
		}
		for _, step := range []struct {
			what, want string
			do         func()
		}{
			{"a miss", "request (near load (near read, query, near write))", func() { take(c, "k", nil) }},
			{"a hit", "request", func() { take(c, "k", nil) }},
			{"a value of the store", "request (near load (near read))", func() { take(other, "k", nil) }},
			{"a wait for another instance", "request (near load (near read, query, near write)), request (near load (near read, near lease (near read, near read)))", func() {
				go take(c, "leased", nil)
				synctest.Wait()
				time.Sleep(time.Millisecond)
				take(other, "leased", nil)
			}},
			{"several keys", "request (near load (near read, query, near write, near write))", func() {
				r.span("request", func(ctx context.Context) {
					c.TakeMany(ctx, []string{"k", "a", "b"}, func(ctx context.Context, missing []string) (map[string]string, error) {
						v, err := r.fetch(nil)(ctx)
						return map[string]string{missing[0]: v, missing[1]: v}, err
					})
				})
			}},
			{"a Del", "request (near remove)", func() {
				r.span("request", func(ctx context.Context) { must(t, c.Del(ctx, "k")) })
			}},
			{"an error", "request (near load (near read, query, near release))", func() { take(c, "fails", errors.New("bad day")) }},
		} {
			step.do()
			if got, _ := r.take(); got != step.want {
				t.Errorf("%s: %s, want %s", step.what, got, step.want)
			}
		}
	})
}

// attributesOf returns what a span says, but for the hash of its key.
func attributesOf(t *testing.T, s tracetest.SpanStub) string {
	t.Helper()
	var all []string
	for _, a := range s.Attributes {
		if a.Key != "pinwheel.cache.key.hash" {
			all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.Emit()))
		} else if len(a.Value.AsString()) != 16 {
			t.Errorf("%s: the hash is %q", s.Name, a.Value.AsString())
		}
	}
	if s.Status.Code == codes.Error {
		all = append(all, "failed: "+s.Status.Description)
	}
	if failed := s.Status.Code == codes.Error; failed != (len(s.Events) == 1 && s.Events[0].Name == "exception") {
		t.Errorf("%s: %v with the events %+v", s.Name, s.Status, s.Events)
	}
	return strings.Join(all, " ")
}

// TestAttributes checks what loads and joins say, and when they fail.
func TestAttributes(t *testing.T) {
	const name = "pinwheel.cache.name=users pinwheel.cache.key.count=1"
	inTrace(t, func(t *testing.T, r *traced) {
		c := r.cache(near.Options[string, string]{NotFoundExpire: time.Minute, Cache: cache.Options[string, string]{Timeout: time.Minute}})
		get := func(ctx context.Context, key string, err error) { c.Take(ctx, key, r.fetch(err)) }
		hang := func(context.Context) (string, error) { time.Sleep(time.Hour); return "v", nil }
		for _, step := range []struct {
			span, want string
			do         func(ctx context.Context)
		}{
			{"near load", name + " pinwheel.cache.outcome=fetched pinwheel.cache.fetch.count=1", func(ctx context.Context) { get(ctx, "k", nil) }},
			{"near load", name + " pinwheel.cache.outcome=not_found pinwheel.cache.fetch.count=1", func(ctx context.Context) { get(ctx, "none", near.ErrNotFound) }},
			{"near load", name + " pinwheel.cache.outcome=fetched pinwheel.cache.fetch.count=1 error.type=_OTHER failed: bad day", func(ctx context.Context) { get(ctx, "fails", errors.New("bad day")) }},
			{"near read", name + " error.type=_OTHER failed: away", func(ctx context.Context) {
				r.store.Fail(errors.New("away"))
				get(ctx, "away", nil)
				r.store.Fail(nil)
			}},
			{"near join", name + " error.type=canceled failed: context canceled", func(ctx context.Context) {
				go c.Take(ctx, "hangs", hang)
				synctest.Wait()
				own, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				c.Take(own, "hangs", hang)
			}},
			{"near join", name + " error.type=timeout failed: cache: the load took longer than Timeout", func(ctx context.Context) {
				c.Take(ctx, "hangs", hang)
			}},
		} {
			r.span("request", step.do)
			_, all := r.take()
			i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == step.span })
			if i < 0 {
				t.Fatalf("no span %s among %d", step.span, len(all))
			}
			if got := attributesOf(t, all[i]); got != step.want {
				t.Errorf("%s: %s, want %s", step.span, got, step.want)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}

// TestLinks checks that a join has a link to the load, which goes on within the span of a caller that has left, and
// that a renewal is a trace of its own, with a link to its cause.
func TestLinks(t *testing.T) {
	inTrace(t, func(t *testing.T, r *traced) {
		c := r.cache(near.Options[string, string]{Cache: cache.Options[string, string]{RefreshAfter: time.Minute}})
		var calls sync.WaitGroup
		for i := range 3 {
			calls.Go(func() {
				r.span(fmt.Sprint("request ", i), func(ctx context.Context) {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					if i == 0 {
						time.AfterFunc(time.Second/2, cancel)
					}
					c.Take(ctx, "k", r.fetch(nil))
				})
			})
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		calls.Wait()
		time.Sleep(time.Minute)
		r.span("request 3", func(ctx context.Context) { c.Take(ctx, "k", r.fetch(nil)) })
		got, all := r.take()
		if want := "request 0 (near load (near read, query, near write)), request 1 (near join), request 2 (near join), request 3, near load (near read)"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		var loads []tracetest.SpanStub
		for _, s := range all {
			var link api.SpanContext
			if len(s.Links) == 1 {
				link = s.Links[0].SpanContext
			}
			switch s.Name {
			case "near load":
				loads = append(loads, s)
			case "near join":
				if took := s.EndTime.Sub(s.StartTime); !link.Equal(loads[0].SpanContext) || took < 900*time.Millisecond || took > time.Second {
					t.Errorf("a join of %v has the links %+v", took, s.Links)
				}
			case "request 3":
				defer func(cause api.SpanContext) {
					if l := loads[1]; l.SpanContext.TraceID() == cause.TraceID() || len(l.Links) != 1 || !l.Links[0].SpanContext.Equal(cause) {
						t.Errorf("the renewal has the links %+v", l.Links)
					}
				}(s.SpanContext)
			}
		}
	})
}

// Catches: a nil provider of which one hears at the first miss.
func TestNoProvider(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "otelpinwheel: NewTracer got a nil TracerProvider: want ") {
			t.Errorf("%v", p)
		}
	}()
	otelpinwheel.NewTracer(nil)
}
