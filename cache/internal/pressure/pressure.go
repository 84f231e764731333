// Package pressure lets caches give memory back before the garbage collector has to run all the
// time, as it does when a program comes near its GOMEMLIMIT.
package pressure

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
)

// A watcher looks after the caches of the process. It looks after each cycle of the collector,
// in a goroutine that lives for this look; between cycles nothing runs.
type watcher struct {
	mu       sync.Mutex // guards what follows
	holders  []*registration
	armed    bool // there will be a look after the next cycle
	governor governor

	looking atomic.Bool // only one look at a time
}

type registration struct {
	holder  func() Holder // nil once it is gone
	holding atomic.Bool   // its Hold has not returned
}

// A patient is a Holder whose Hold runs in a goroutine of its own, one at a time: it may wait
// for long, as for callbacks of its user, and the other holders do not wait with it.
type patient struct {
	Holder
	*registration
}

func (p patient) Hold(most uint64) {
	if !p.holding.CompareAndSwap(false, true) {
		return // the next look sees what it holds then
	}
	go func() {
		defer p.holding.Store(false)
		p.Holder.Hold(most)
	}()
}

var process watcher

// Watch has a holder give back memory, and take it, until stop is called or holder returns nil.
func Watch(holder func() Holder) (stop func()) {
	r := &registration{holder: holder}
	process.mu.Lock()
	defer process.mu.Unlock()
	process.holders = append(process.holders, r)
	process.arm()
	return func() { process.forget(r) }
}

func (w *watcher) forget(r *registration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holders = slices.DeleteFunc(w.holders, func(other *registration) bool { return other == r })
}

// arm makes garbage, whose finalizer tells of the next cycle. w.mu must be held.
func (w *watcher) arm() {
	if w.armed || len(w.holders) == 0 {
		return
	}
	w.armed = true
	type garbage struct{ _ [16]byte } // not so small that others share its memory
	runtime.SetFinalizer(new(garbage), func(*garbage) {
		w.mu.Lock()
		w.armed = false
		w.arm()
		w.mu.Unlock()
		if w.looking.CompareAndSwap(false, true) {
			go w.look()
		}
	})
}

// look reads the state of the process, and divides the excess among the holders.
func (w *watcher) look() {
	defer w.looking.Store(false)
	r := read()
	w.mu.Lock()
	excess := w.governor.excess(r)
	var holders []Holder
	w.holders = slices.DeleteFunc(w.holders, func(r *registration) bool {
		h := r.holder()
		if h != nil {
			holders = append(holders, patient{h, r})
		}
		return h == nil
	})
	w.mu.Unlock()
	share(excess, holders)
}

// read returns the state of the process. Without GOMEMLIMIT the limit is out of reach: what had
// to yield before the program took its limit away grows back.
func read() reading {
	samples := []metrics.Sample{
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, // of processors that had nothing else to do
		{Name: "/cpu/classes/total:cpu-seconds"},
	}
	metrics.Read(samples)
	bytes := func(i int) uint64 { return samples[i].Value.Uint64() }
	return reading{
		limit:     bytes(0),
		live:      bytes(1),
		others:    bytes(2) - min(bytes(2), bytes(3)+bytes(4)+bytes(5)),
		collector: samples[6].Value.Float64() - samples[7].Value.Float64(),
		processor: samples[8].Value.Float64(),
	}
}
