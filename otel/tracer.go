package otelpinwheel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pinwheel-cache/pinwheel/near"
)

// NewTracer returns the option Tracer of near caches, which makes spans with a provider, such as that of
// [go.opentelemetry.io/otel.GetTracerProvider]:
//
//	options.Tracer = otelpinwheel.NewTracer(otel.GetTracerProvider())
//
// A hit has no span. A miss has "near load", as a child of the span of the caller that began the load, also if that
// caller leaves before its end. Within it are "near read" of the store, "near lease" while another instance has the
// lease, the spans of the fetch, such as its queries, and "near write"; [near.Tracer] lists all. A caller that has
// waited for the load of another has "near join", with a link to that load. A renewal in the background has a trace
// of its own, with a link to the span of the call that found the value due. A fetch can add to the span of its load,
// such as the key, which may be a secret and is not there:
//
//	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("user.id", id))
//
// One Tracer may be that of several caches. NewTracer panics if provider is nil.
func NewTracer(provider trace.TracerProvider) near.Tracer {
	if provider == nil {
		panic("otelpinwheel: NewTracer got a nil TracerProvider: want that of the SDK, or otel.GetTracerProvider()")
	}
	tracer := provider.Tracer(scope)
	return func(ctx context.Context, s near.Span) (context.Context, func(near.SpanEnd)) {
		ctx, span := tracer.Start(ctx, "near "+s.Name, startOf(ctx, s)...)
		return ctx, func(e near.SpanEnd) { end(span, e) }
	}
}

const (
	keyCount   = attribute.Key("pinwheel.cache.key.count")
	keyHash    = attribute.Key("pinwheel.cache.key.hash")
	outcome    = attribute.Key("pinwheel.cache.outcome")
	fetchCount = attribute.Key("pinwheel.cache.fetch.count")
	errorType  = attribute.Key("error.type")
)

// startOf returns the options of a span that is about to begin.
func startOf(ctx context.Context, s near.Span) []trace.SpanStartOption {
	attributes := []attribute.KeyValue{cacheName.String(s.Cache), keyCount.Int(s.Keys)}
	if s.KeyHash != 0 {
		attributes = append(attributes, keyHash.String(fmt.Sprintf("%016x", s.KeyHash)))
	}
	options := []trace.SpanStartOption{trace.WithAttributes(attributes...)}
	if !s.Began.IsZero() {
		options = append(options, trace.WithTimestamp(s.Began))
	}
	cause := s.Load
	if s.Background {
		options, cause = append(options, trace.WithNewRoot()), ctx
	}
	if cause != nil && trace.SpanContextFromContext(cause).IsValid() {
		options = append(options, trace.WithLinks(trace.LinkFromContext(cause)))
	}
	return options
}

func end(span trace.Span, e near.SpanEnd) {
	if e.Outcome != "" {
		span.SetAttributes(outcome.String(e.Outcome))
	}
	if e.Fetched > 0 {
		span.SetAttributes(fetchCount.Int(e.Fetched))
	}
	if e.Err != nil {
		span.RecordError(e.Err)
		span.SetStatus(codes.Error, e.Err.Error())
		span.SetAttributes(errorType.String(typeOf(e.Err)))
	}
	span.End()
}

// typeOf returns a word for an error, of which there are few.
func typeOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, near.ErrStore):
		return "store"
	}
	return "_OTHER"
}
