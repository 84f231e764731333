// Package sizeof says how many bytes of the heap a value keeps for itself.
package sizeof

import (
	"reflect"
	"sync"
	"unsafe"
)

// Of returns the bytes on the heap that v leads to, as the allocator rounds them up: not the
// bytes of v itself. What v leads to twice counts once. Maps are estimated, as they do not tell
// how full they are. What a function or a channel holds does not count, nor does a
// [time.Location], which all times share. Nothing may change v meanwhile. Of is safe for
// concurrent use.
func Of[T any](v T) uint64 {
	switch v := any(v).(type) {
	case int, int64, uint64, int32, uint32, float64, bool:
		return 0
	case string:
		return allocated(uintptr(len(v)), false)
	case []byte:
		return allocated(uintptr(cap(v)), false)
	}
	p := planOf(reflect.TypeFor[T]())
	if p.walk == nil {
		return 0
	}
	w := walkers.Get().(*walker)
	n := p.walk(w, unsafe.Pointer(&v))
	*w = walker{}
	walkers.Put(w)
	return n
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// A walker knows what it has counted.
type walker struct {
	first [8]unsafe.Pointer // without an allocation
	n     int
	more  map[unsafe.Pointer]struct{}
}

// enter reports whether p is not nil and was not entered before.
func (w *walker) enter(p unsafe.Pointer) bool {
	if p == nil {
		return false
	}
	for _, q := range w.first[:w.n] {
		if p == q {
			return false
		}
	}
	if w.n < len(w.first) {
		w.first[w.n] = p
		w.n++
		return true
	}
	if _, ok := w.more[p]; ok {
		return false
	}
	if w.more == nil {
		w.more = make(map[unsafe.Pointer]struct{})
	}
	w.more[p] = struct{}{}
	return true
}
