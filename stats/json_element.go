package stats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// An element is the object of a cache or timing wheel under construction. All sources of an
// answer use one after another, so that a thousand of them allocate little.
type element[S any] struct {
	buf   []byte
	other bytes.Buffer // fields that are not numbers
	since S            // what happened in a window or point
}

// begin appends the fields of a struct, without the closing brace, and the numbers of s.
func (e *element[S]) begin(fields any, view view[S], s *S) error {
	e.other.Reset()
	err := json.NewEncoder(&e.other).Encode(fields)
	e.buf = append(e.buf, bytes.TrimSuffix(e.other.Bytes(), []byte("}\n"))...)
	e.buf = view.append(append(e.buf, ','), s)
	return err
}

// setSince sets since to what happened in a point. Levels and gauges are those of its end.
func (e *element[S]) setSince(p point[S], metrics []Metric[S]) {
	e.since = *p.to
	subtract(metrics, &e.since, p.from)
}

// history appends the array of the newest n points, or nothing if n is negative.
func (e *element[S]) history(l *look[S], n int, metrics []Metric[S], view view[S]) {
	if n < 0 {
		return
	}
	e.buf = append(e.buf, `,"history":[`...)
	comma := ""
	for p := range l.points(n) {
		start := p.start.UTC().Format("2006-01-02T15:04:05.000Z07:00") // also tells the point from others
		e.buf = fmt.Appendf(e.buf, `%s{"start":"%s","seconds":%v,"partial":%t,`, comma, start, p.length.Seconds(), p.running)
		comma = ","
		e.setSince(p, metrics)
		e.buf = append(view.append(e.buf, &e.since), '}')
	}
	e.buf = append(e.buf, ']')
}

// makeCache makes the object of a cache, with the newest points of its history, or without
// history if their number is negative. withErrors adds the texts of errors.
func makeCache(e *element[Snapshot], l *look[Snapshot], points int, withErrors bool) error {
	var load, store, lost *sources.Failure
	if l.cache.Failures != nil {
		load, store, lost = l.cache.Failures()
	}
	e.setSince(underLimit(l, 5*time.Minute), cacheMetrics)
	err := e.begin(jsonCache{
		Name:          l.name,
		Since:         l.since.UTC(),
		WhatIf:        newJSONWhatIf(&e.since),
		HotKeys:       newJSONHotKeys(l.cache),
		FailingKeys:   newJSONBadKeys(l.cache.FailingKeys, withErrors),
		SlowKeys:      newJSONBadKeys(l.cache.SlowKeys, withErrors),
		Settings:      newJSONSettings(l.cache.Now()),
		LastLoadError: newJSONFailure(load, withErrors),
		StoreFailed:   newJSONFailure(store, withErrors),
		SourceLost:    newJSONFailure(lost, withErrors),
		Purgeable:     l.cache.Purge != nil,
		Prefixes:      l.cache.PurgePrefix != nil,
		Fleet:         l.cache.PurgeFleet != nil && l.cache.PurgeFleet() != nil,
		Findings:      l.found,
	}, cacheViews.source, l.stats)
	if err != nil {
		return err
	}
	addWindow(e, `,"windows":{"10s":`, l.window(2*interval))
	addWindow(e, `,"1m":`, l.window(time.Minute))
	addWindow(e, `,"5m":`, l.window(5*time.Minute))
	e.buf = append(e.buf, '}')
	e.history(l, points, cacheMetrics, cacheViews.point)
	e.buf = append(e.buf, '}')
	return nil
}

// addWindow appends what begins a member, and the object of a time that ends now.
func addWindow(e *element[Snapshot], begin string, p point[Snapshot]) {
	e.setSince(p, cacheMetrics)
	rate := 0.0
	if p.length > 0 {
		rate = float64(e.since.Gets()) / p.length.Seconds()
	}
	e.buf = fmt.Appendf(e.buf, `%s{"seconds":%v,"gets_per_second":%v,`, begin, p.length.Seconds(), rate)
	e.buf = append(cacheViews.window.append(e.buf, &e.since), '}')
}

// makeWheel is makeCache for a timing wheel.
func makeWheel(e *element[WheelSnapshot], l *look[WheelSnapshot], points int) error {
	settings := map[string]any{"interval_seconds": l.wheel.Interval.Seconds(), "slots": l.wheel.Slots, "workers": l.wheel.Workers, "limit": l.wheel.Limit}
	if err := e.begin(map[string]any{"name": l.name, "settings": settings, "findings": l.found}, wheelViews.source, l.stats); err != nil {
		return err
	}
	e.history(l, points, wheelMetrics, wheelViews.point)
	e.buf = append(e.buf, '}')
	return nil
}
