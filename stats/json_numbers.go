package stats

import (
	"strconv"
	"strings"
	"time"
)

// views are the objects of stats.json that have numbers of S.
type views[S any] struct{ source, point, window view[S] }

var (
	cacheViews = newViews(cacheMetrics, cacheComputed, map[string]func(*Snapshot) bool{
		"near":        isNear,
		"evicted_age": func(s *Snapshot) bool { return s.EvictedAge.Count() > 0 },
	})
	wheelViews = newViews(wheelMetrics, wheelComputed, nil)
)

func newViews[S any](metrics []Metric[S], computed []number[S], only map[string]func(*S) bool) (v views[S]) {
	add := func(n *number[S]) {
		v.source.add(n.json, n.of, only)
		v.point.add(n.point, n.of, only)
		v.window.add(n.window, n.of, only)
	}
	for i := range metrics {
		for j := range metrics[i].numbers {
			add(&metrics[i].numbers[j])
		}
	}
	for i := range computed {
		add(&computed[i])
	}
	return v
}

// A view writes the members of an object.
type view[S any] struct{ members []member[S] }

// A member is a number, or an object of numbers.
type member[S any] struct {
	name   string
	of     func(*S) any
	object *view[S]      // instead of a number
	only   func(*S) bool // whether there is the object, or null; nil: always
}

// add adds a number at a path, or none if that is empty.
func (v *view[S]) add(path string, of func(*S) any, only map[string]func(*S) bool) {
	if path == "" {
		return
	}
	name, rest, inObject := strings.Cut(path, ".")
	if !inObject {
		v.members = append(v.members, member[S]{name: name, of: of})
		return
	}
	for i := range v.members {
		if m := &v.members[i]; m.name == name {
			m.object.add(rest, of, nil)
			return
		}
	}
	object := new(view[S])
	object.add(rest, of, nil)
	v.members = append(v.members, member[S]{name: name, object: object, only: only[name]})
}

// append appends the members, without braces.
func (v *view[S]) append(buf []byte, s *S) []byte {
	for i := range v.members {
		m := &v.members[i]
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, '"')
		buf = append(buf, m.name...)
		buf = append(buf, `":`...)
		switch {
		case m.object == nil:
			buf = appendNumber(buf, m.of(s))
		case m.only != nil && !m.only(s):
			buf = append(buf, "null"...)
		default:
			buf = append(buf, '{')
			buf = m.object.append(buf, s)
			buf = append(buf, '}')
		}
	}
	return buf
}

// appendNumber appends what number.of has returned. Of a histogram JSON has the count.
func appendNumber(buf []byte, of any) []byte {
	switch v := of.(type) {
	case *bool:
		return strconv.AppendBool(buf, *v)
	case *time.Duration, *float64, float64:
		return appendFloat(buf, valueOf(v).float)
	case *Histogram:
		return strconv.AppendUint(buf, v.Count(), 10)
	}
	return strconv.AppendUint(buf, valueOf(of).count, 10)
}

func appendFloat(buf []byte, v float64) []byte {
	return strconv.AppendFloat(buf, finite(v), 'g', -1, 64)
}
