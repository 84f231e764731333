package sizeof

import (
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// A plan says how to measure the values of a type.
type plan struct {
	size     uintptr // of the value itself
	pointers bool    // the value has some, so the collector scans it

	// walk returns the bytes on the heap that the value at a place leads to. It is nil if
	// there are never any.
	walk func(w *walker, at unsafe.Pointer) uint64
}

var (
	plans sync.Map // of *plan by reflect.Type, complete ones only

	// shared are the types of which one value serves the whole process.
	shared = map[reflect.Type]bool{
		reflect.TypeFor[time.Location](): true,
	}
)

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	c := compiler{}
	p := c.plan(t)
	for t, p := range c {
		plans.Store(t, p)
	}
	return p
}

// A compiler has the plans of a type and of those that it is made of. A type may contain
// itself, through a pointer, slice, map or interface: these set walk before they ask for the
// plan of what they lead to.
type compiler map[reflect.Type]*plan

func (c compiler) plan(t reflect.Type) *plan {
	if p, ok := c[t]; ok {
		return p
	}
	p := &plan{size: t.Size()}
	c[t] = p
	switch t.Kind() {
	case reflect.String:
		p.pointers = true
		p.walk = func(_ *walker, at unsafe.Pointer) uint64 {
			return allocated(uintptr(len(*(*string)(at))), false)
		}
	case reflect.Pointer:
		c.pointer(p, t.Elem())
	case reflect.Slice:
		c.slice(p, t.Elem())
	case reflect.Array:
		c.array(p, t.Len(), t.Elem())
	case reflect.Struct:
		c.structure(p, t)
	case reflect.Interface:
		c.iface(p, t)
	case reflect.Map:
		c.hashmap(p, t)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		p.pointers = true
	}
	return p
}

func (c compiler) pointer(p *plan, elem reflect.Type) {
	p.pointers = true
	if shared[elem] {
		return
	}
	var to *plan
	p.walk = func(w *walker, at unsafe.Pointer) uint64 {
		return w.object(*(*unsafe.Pointer)(at), to)
	}
	to = c.plan(elem)
}

// object returns the bytes of an object and of what it leads to.
func (w *walker) object(at unsafe.Pointer, of *plan) uint64 {
	if !w.enter(at) {
		return 0
	}
	n := allocated(of.size, of.pointers)
	if of.walk != nil {
		n += of.walk(w, at)
	}
	return n
}

func (c compiler) slice(p *plan, elem reflect.Type) {
	p.pointers = true
	var of *plan
	p.walk = func(w *walker, at unsafe.Pointer) uint64 {
		s := (*[]byte)(at) // the layout is that of any slice
		n := allocated(uintptr(cap(*s))*of.size, of.pointers)
		if first := unsafe.Pointer(unsafe.SliceData(*s)); of.walk != nil && w.enter(first) {
			for i := range len(*s) {
				n += of.walk(w, unsafe.Add(first, uintptr(i)*of.size))
			}
		}
		return n
	}
	of = c.plan(elem)
}

func (c compiler) array(p *plan, length int, elem reflect.Type) {
	of := c.plan(elem)
	p.pointers = of.pointers && length > 0
	if of.walk == nil || length == 0 {
		return
	}
	p.walk = func(w *walker, at unsafe.Pointer) (n uint64) {
		for i := range length {
			n += of.walk(w, unsafe.Add(at, uintptr(i)*of.size))
		}
		return n
	}
}

func (c compiler) structure(p *plan, t reflect.Type) {
	type field struct {
		offset uintptr
		of     *plan
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		of := c.plan(f.Type)
		p.pointers = p.pointers || of.pointers
		if of.walk != nil {
			fields = append(fields, field{f.Offset, of})
		}
	}
	if fields == nil {
		return
	}
	p.walk = func(w *walker, at unsafe.Pointer) (n uint64) {
		for _, f := range fields {
			n += f.of.walk(w, unsafe.Add(at, f.offset))
		}
		return n
	}
}

// iface measures what an interface holds: what a pointer in it leads to, or a value that was
// allocated for it. Values of a byte are not allocated, and are not counted.
func (c compiler) iface(p *plan, t reflect.Type) {
	p.pointers = true
	p.walk = func(w *walker, at unsafe.Pointer) uint64 {
		v := reflect.NewAt(t, at).Elem().Elem()
		if !v.IsValid() || v.Type().Size() <= 1 {
			return 0
		}
		of := planOf(v.Type())
		switch v.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
			if of.walk == nil {
				return 0
			}
			direct := v.UnsafePointer() // the interface holds it without an allocation
			return of.walk(w, unsafe.Pointer(&direct))
		}
		copied := reflect.New(v.Type())
		copied.Elem().Set(v)
		n := allocated(of.size, of.pointers)
		if of.walk != nil {
			n += of.walk(w, copied.UnsafePointer())
		}
		return n
	}
}

// A hash map of the runtime has groups of eight slots with eight bytes of control words, and a
// header. Beyond a group it has tables of at most 1,024 slots, of which seven eighths may be
// used: so half to seven eighths are, in the mean some two thirds.
const (
	mapHeader  = 48
	mapTable   = 40
	group      = 8
	control    = 8
	inlineMost = 128 // greater keys and values are allocated by themselves
	fullTable  = 1024
)

func (c compiler) hashmap(p *plan, t reflect.Type) {
	p.pointers = true
	var key, elem *plan
	var slot uintptr
	p.walk = func(w *walker, at unsafe.Pointer) uint64 {
		if !w.enter(*(*unsafe.Pointer)(at)) {
			return 0
		}
		v := reflect.NewAt(t, at).Elem()
		n := allocated(mapHeader, true) + groups(v.Len(), slot, key.pointers || elem.pointers)
		if key.walk == nil && elem.walk == nil && key.size <= inlineMost && elem.size <= inlineMost {
			return n
		}
		k, e := reflect.New(t.Key()), reflect.New(t.Elem())
		for i := v.MapRange(); i.Next(); {
			k.Elem().SetIterKey(i)
			e.Elem().SetIterValue(i)
			n += w.inMap(key, k.UnsafePointer()) + w.inMap(elem, e.UnsafePointer())
		}
		return n
	}
	key, elem = c.plan(t.Key()), c.plan(t.Elem())
	slot = (inline(key, t.Key()) + inline(elem, t.Elem()) + 7) &^ 7
}

// inMap returns the bytes that a key or value of a map takes beyond its slot.
func (w *walker) inMap(of *plan, at unsafe.Pointer) (n uint64) {
	if of.size > inlineMost {
		n = allocated(of.size, of.pointers)
	}
	if of.walk != nil {
		n += of.walk(w, at)
	}
	return n
}

// inline returns the bytes of a slot of a map for a key or value.
func inline(p *plan, t reflect.Type) uintptr {
	if p.size > inlineMost {
		return unsafe.Sizeof(uintptr(0))
	}
	return (p.size + uintptr(t.Align()) - 1) &^ (uintptr(t.Align()) - 1)
}

// groups returns the bytes of the groups and tables of a map with n keys.
func groups(n int, slot uintptr, scanned bool) uint64 {
	perGroup := control + group*slot
	switch {
	case n == 0:
		return 0
	case n <= group:
		return allocated(perGroup, scanned)
	}
	slots := 2 * group
	for slots*7/8 < n && slots < fullTable {
		slots *= 2
	}
	table := allocated(uintptr(slots/group)*perGroup, scanned) + allocated(mapTable, true)
	if n <= fullTable*7/8 {
		return table
	}
	return table * uint64(n) * 3 / (fullTable * 2)
}
