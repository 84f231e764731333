// This file has the plans, one for each type, which say where a value of the type has pointers, and
// what the allocator takes for it.

package heapsize

import (
	"math/bits"
	"reflect"
	"slices"
	"sync"
	"time"
)

// A plan says how to weigh the values of a type.
type plan struct {
	typ    reflect.Type
	size   uint64 // of a value itself
	traced bool   // a value has pointers, which the collector follows
	points bool   // it has some that a walk follows
	direct bool   // an interface has such a value itself, and not a pointer to it

	fields []field      // of a struct: those with points
	key    func() *plan // of a map
	elem   func() *plan // of an array, slice, map or pointer; a function, as types refer to themselves
	group  uint64       // of a map: what eight slots take
}

type field struct {
	index int
	plan  *plan
}

// plans has the plan of each type that was met. It is safe for concurrent use.
type plans struct {
	shared []reflect.Type // pointers to these are not followed
	byType sync.Map       // *plan by reflect.Type
}

func newPlans(shared []reflect.Type) *plans {
	return &plans{shared: append(slices.Clone(shared), reflect.TypeFor[time.Location]())}
}

// of returns the plan of a type.
func (s *plans) of(t reflect.Type) *plan {
	if p, ok := s.byType.Load(t); ok {
		return p.(*plan)
	}
	p, _ := s.byType.LoadOrStore(t, s.newPlan(t))
	return p.(*plan)
}

func (s *plans) newPlan(t reflect.Type) *plan {
	p := &plan{typ: t, size: uint64(t.Size())}
	later := func(t reflect.Type) func() *plan { return sync.OnceValue(func() *plan { return s.of(t) }) }
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		p.traced, p.points = true, true
	case reflect.Slice:
		p.traced, p.points, p.elem = true, true, later(t.Elem())
	case reflect.Pointer:
		p.traced, p.direct, p.elem = true, true, later(t.Elem())
		p.points = !slices.Contains(s.shared, t.Elem())
	case reflect.Map:
		p.traced, p.points, p.direct = true, true, true
		p.key, p.elem, p.group = later(t.Key()), later(t.Elem()), groupBytes(t)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		p.traced, p.direct = true, true
	case reflect.Array:
		elem := s.of(t.Elem())
		p.elem = func() *plan { return elem }
		p.traced, p.points = t.Len() > 0 && elem.traced, t.Len() > 0 && elem.points
		p.direct = t.Len() == 1 && elem.direct
	case reflect.Struct:
		s.addFields(p)
	}
	return p
}

func (s *plans) addFields(p *plan) {
	for i := range p.typ.NumField() {
		f := s.of(p.typ.Field(i).Type)
		p.traced = p.traced || f.traced
		p.direct = p.typ.NumField() == 1 && f.direct
		if f.points && p.typ.PkgPath() != "unique" {
			p.fields, p.points = append(p.fields, field{i, f}), true
		}
	}
}

// What a map of package runtime takes; see its package internal/runtime/maps.
const (
	mapHeader, tableHeader = 48, 32
	perGroup               = 8    // slots
	perTable               = 1024 // slots
	mostInSlot             = 128  // bytes of a key or an element: larger ones are allocated
)

// groupBytes returns what a group of slots takes, in a map of type t.
func groupBytes(t reflect.Type) uint64 {
	inSlot := func(t reflect.Type) reflect.Type {
		if t.Size() > mostInSlot {
			return reflect.PointerTo(t)
		}
		return t
	}
	slot := reflect.StructOf([]reflect.StructField{{Name: "K", Type: inSlot(t.Key())}, {Name: "E", Type: inSlot(t.Elem())}})
	return 8 + perGroup*uint64(slot.Size())
}

// mapBytes returns what the slots of a map with n entries take. A table is full with 7 entries in 8 slots; then
// it doubles, or, with perTable slots, becomes two.
func (p *plan) mapBytes(n int) uint64 {
	traced := p.key().traced || p.elem().traced || max(p.key().size, p.elem().size) > mostInSlot
	header := block(mapHeader, true)
	switch {
	case n == 0:
		return header
	case n <= perGroup:
		return header + block(p.group, traced)
	}
	slots := uint64(1) << bits.Len64((uint64(n)*8+6)/7-1) // the next power of two
	tables := max(slots/perTable, 1)
	table := block(tableHeader, true) + block(slots/tables/perGroup*p.group, traced)
	return header + block(8*tables, true) + tables*table
}

// boxed returns what the allocator takes for the keys and elements of n entries that are too large for slots.
func (p *plan) boxed(n int) (bytes uint64) {
	for _, part := range []*plan{p.key(), p.elem()} {
		if part.size > mostInSlot {
			bytes += uint64(n) * block(part.size, part.traced)
		}
	}
	return bytes
}
