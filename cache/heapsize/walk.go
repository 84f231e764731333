// This file walks over what a value points to.

package heapsize

import (
	"reflect"
	"slices"
)

// A walk adds up what values point to, each thing once.
type walk struct {
	plans *plans
	tiny  uint64             // bytes of objects that share blocks
	few   []visit            // the first that were seen
	many  map[visit]struct{} // the others
}

// A visit is what a walk has seen: a thing at an address, which may be part of another at the same one.
type visit struct {
	address uintptr
	plan    *plan // of the pointer, slice, string or map
}

// mostFew is how many visits are found about as fast one by one as in a map.
const mostFew = 32

// mostKept is how many visits the next walk may have room for.
const mostKept = 1000

// reset forgets what was seen.
func (w *walk) reset() {
	w.few = w.few[:0]
	if len(w.many) > mostKept {
		w.many = nil // to clear it would take as long for each small value that follows
	}
	clear(w.many)
}

// first reports whether a thing is seen for the first time.
func (w *walk) first(address uintptr, p *plan) bool {
	v := visit{address, p}
	if slices.Contains(w.few, v) {
		return false
	}
	if len(w.few) < mostFew {
		w.few = append(w.few, v)
		return true
	}
	if w.many == nil {
		w.many = map[visit]struct{}{}
	}
	n := len(w.many)
	w.many[v] = struct{}{}
	return len(w.many) > n
}

// all is held of a key or a value as a whole.
func (w *walk) all(p *plan, v reflect.Value) uint64 {
	n := w.held(p, v)
	n += (w.tiny + tiny - 1) / tiny * tiny
	w.tiny = 0
	return n
}

// block returns what an object of n bytes takes. Tiny ones are only noted.
func (w *walk) block(n uint64, traced bool) uint64 {
	if !traced && n <= tiny/2 {
		w.tiny += n
		return 0
	}
	return block(n, traced)
}

// held returns what the allocator takes for what v points to, but not for v itself.
func (w *walk) held(p *plan, v reflect.Value) (n uint64) {
	if !p.points {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 && w.first(uintptr(v.UnsafePointer()), p) {
			n = w.block(uint64(v.Len()), false)
		}
	case reflect.Slice:
		n = w.slice(p, v)
	case reflect.Pointer:
		if !v.IsNil() && w.first(v.Pointer(), p) {
			n = w.block(p.elem().size, p.elem().traced) + w.held(p.elem(), v.Elem())
		}
	case reflect.Map:
		n = w.entries(p, v)
	case reflect.Interface:
		if !v.IsNil() {
			n = w.dynamic(v.Elem())
		}
	case reflect.Array:
		n = w.elements(p.elem(), v)
	case reflect.Struct:
		for _, f := range p.fields {
			n += w.held(f.plan, v.Field(f.index))
		}
	}
	return n
}

func (w *walk) slice(p *plan, v reflect.Value) uint64 {
	elem := p.elem()
	if v.Cap() == 0 || !w.first(v.Pointer(), p) {
		return 0
	}
	n := w.block(uint64(v.Cap())*elem.size, elem.traced)
	if !elem.points {
		return n
	}
	if v.Len() < v.Cap() {
		v = v.Slice(0, v.Cap()) // the rest may have pointers, too
	}
	return n + w.elements(elem, v)
}

// elements walks over those of an array or a slice.
func (w *walk) elements(elem *plan, v reflect.Value) (n uint64) {
	for i := range v.Len() {
		n += w.held(elem, v.Index(i))
	}
	return n
}

func (w *walk) entries(p *plan, v reflect.Value) uint64 {
	if v.IsNil() || !w.first(v.Pointer(), p) {
		return 0
	}
	n := p.mapBytes(v.Len()) + p.boxed(v.Len())
	if key, elem := p.key(), p.elem(); key.points || elem.points {
		for i := v.MapRange(); i.Next(); {
			n += w.held(key, i.Key()) + w.held(elem, i.Value())
		}
	}
	return n
}

// dynamic walks over what an interface has. The compiler allocates neither bytes nor integers below 256.
func (w *walk) dynamic(v reflect.Value) uint64 {
	p := w.plans.of(v.Type())
	n := w.held(p, v)
	if p.direct || p.size == 1 || v.CanInt() && uint64(v.Int()) < 256 || v.CanUint() && v.Uint() < 256 {
		return n
	}
	return n + w.block(p.size, p.traced)
}
