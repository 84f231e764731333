package stats

import (
	"strconv"
	"strings"
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
		buf = append(append(append(buf, '"'), m.name...), `":`...)
		switch {
		case m.object == nil:
			of := m.of(s)
			if b, ok := of.(*bool); ok {
				buf = strconv.AppendBool(buf, *b)
			} else {
				buf = appendNumber(buf, of)
			}
		case m.only != nil && !m.only(s):
			buf = append(buf, "null"...)
		default:
			buf = append(m.object.append(append(buf, '{'), s), '}')
		}
	}
	return buf
}

// appendNumber appends what number.of has returned.
func appendNumber(buf []byte, of any) []byte {
	count, float, whole := scalar(of)
	if whole {
		return strconv.AppendUint(buf, count, 10)
	}
	return strconv.AppendFloat(buf, float, 'g', -1, 64)
}
