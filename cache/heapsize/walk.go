// This file walks over what a value points to.

package heapsize

import "reflect"

// A walk adds up what values point to, each thing once.
type walk struct {
	plans *plans
	bytes uint64           // counted so far, without those of tiny objects
	tiny  uint64           // bytes of objects that share blocks
	few   []noted          // the first that were seen
	many  map[place]extent // the others

	depth int
	later []deferred // what lies deeper than deepest
}

// A place is where a walk has been: what is at an address may be part of another thing at the same one.
type place struct {
	address uintptr
	plan    *plan // of the map, or of the object's elements; nil if they have no pointers
}

// An extent is how much of what is at a place has been counted.
type extent struct {
	bytes    uint64
	elements int // whose pointers were followed
}

type noted struct {
	place
	extent
}

// deferred is a value that still has to be looked at.
type deferred struct {
	plan  *plan
	value reflect.Value
}

const (
	mostFew  = 32   // places are found about as fast one by one as in a map
	mostKept = 1000 // places for which the next walk may have room
	deepest  = 200  // levels of recursion: a long list must not take a long stack
)

// reset forgets what was seen.
func (w *walk) reset() {
	w.few = w.few[:0]
	if len(w.many) > mostKept {
		w.many = nil // to clear it would take as long for each small value that follows
	}
	clear(w.many)
}

// note notes how much of what is at a place will have been counted, and returns how much was before. The first
// part of an array may be met before more of it.
func (w *walk) note(at place, now extent) (before extent) {
	for i := range w.few {
		if f := &w.few[i]; f.place == at {
			before, f.extent = f.extent, f.extent.or(now)
			return before
		}
	}
	if len(w.few) < mostFew {
		w.few = append(w.few, noted{at, now})
		return extent{}
	}
	if w.many == nil {
		w.many = map[place]extent{}
	}
	before = w.many[at]
	w.many[at] = before.or(now)
	return before
}

// or returns the greater of both.
func (e extent) or(f extent) extent {
	return extent{max(e.bytes, f.bytes), max(e.elements, f.elements)}
}

// all returns what the allocator takes for what a key or a value points to.
func (w *walk) all(p *plan, v reflect.Value) uint64 {
	w.bytes, w.tiny = 0, 0
	w.held(p, v)
	for len(w.later) > 0 {
		last := len(w.later) - 1
		next := w.later[last]
		w.later = w.later[:last]
		w.held(next.plan, next.value)
	}
	w.later = nil // it may keep values alive
	return w.bytes + (w.tiny+tiny-1)/tiny*tiny
}

// object counts an object of n elements, as far as it was not counted, and returns of how many of them the pointers
// were followed before; those of the first so many will be now.
func (w *walk) object(address uintptr, elem *plan, n, followed int) int {
	at, bytes := place{address, elem}, uint64(n)*elem.size
	if !elem.traced {
		at.plan = nil
	}
	before := w.note(at, extent{bytes, followed})
	switch {
	case bytes <= before.bytes:
	case !elem.traced && bytes <= tiny/2:
		w.tiny += bytes - before.bytes
	default:
		w.bytes += block(bytes, elem.traced) - block(before.bytes, elem.traced)
	}
	return before.elements
}

// held counts what v points to, but not v itself.
func (w *walk) held(p *plan, v reflect.Value) {
	if !p.points {
		return
	}
	if w.depth == deepest {
		w.later = append(w.later, deferred{p, v})
		return
	}
	w.depth++
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 {
			w.object(uintptr(v.UnsafePointer()), &octet, v.Len(), 0)
		}
	case reflect.Slice:
		w.slice(p.elem(), v)
	case reflect.Pointer:
		if elem := p.elem(); !v.IsNil() && w.object(v.Pointer(), elem, 1, 1) == 0 {
			w.held(elem, v.Elem())
		}
	case reflect.Map:
		w.entries(p, v)
	case reflect.Interface:
		w.dynamic(v)
	case reflect.Array:
		w.elements(p.elem(), v, 0)
	case reflect.Struct:
		for _, f := range p.fields {
			w.held(f.plan, v.Field(f.index))
		}
	}
	w.depth--
}

// octet is the plan of what a string consists of.
var octet = plan{size: 1}

// slice counts the capacity of a slice, but looks only at the elements that it has: the owner may append others
// meanwhile, and parts of an array would see each other's.
func (w *walk) slice(elem *plan, v reflect.Value) {
	if v.Cap() == 0 {
		return
	}
	if before := w.object(v.Pointer(), elem, v.Cap(), v.Len()); elem.points {
		w.elements(elem, v, before)
	}
}

// elements looks at those of an array or a slice, beginning with the index first.
func (w *walk) elements(elem *plan, v reflect.Value, first int) {
	for i := first; i < v.Len(); i++ {
		w.held(elem, v.Index(i))
	}
}

func (w *walk) entries(p *plan, v reflect.Value) {
	if v.IsNil() || w.note(place{v.Pointer(), p}, extent{elements: 1}).elements > 0 {
		return
	}
	w.bytes += p.mapBytes(v.Len()) + p.boxed(v.Len())
	if key, elem := p.key(), p.elem(); key.points || elem.points {
		for i := v.MapRange(); i.Next(); {
			w.held(key, i.Key())
			w.held(elem, i.Value())
		}
	}
}

// dynamic looks at what an interface has. The compiler allocates neither bytes nor integers below 256.
func (w *walk) dynamic(v reflect.Value) {
	if v.IsNil() {
		return
	}
	value := v.Elem()
	p := w.plans.of(value.Type())
	switch {
	case p.direct:
		w.held(p, value)
	case p.size == 1 || value.CanInt() && uint64(value.Int()) < 256 || value.CanUint() && value.Uint() < 256:
	default:
		//lint:ignore SA1019 nothing else tells where a value is that is not addressable
		if address := v.InterfaceData()[1]; w.object(address, p, 1, 1) == 0 {
			w.held(p, value)
		}
	}
}
