package stats

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/internal/vitals"
)

// overLimit is how much of the memory limit is in use only if the collector cannot free enough. With
// GOGC=off memory is often just below the limit.
const overLimit = 1.03

// A health is what is known of the process beside its caches.
type health struct {
	stops    vitals.Stops
	checking sync.Mutex       // guards what follows
	readings []vitals.Reading // of the last minute, the oldest first
	memory   memory
}

// fakeVitals are what tests have instead of those of the process; else nil.
var fakeVitals atomic.Pointer[vitals.Reading]

func readVitals() vitals.Reading {
	if fake := fakeVitals.Load(); fake != nil {
		return *fake
	}
	return vitals.Read()
}

var started = time.Now().UTC()

// examine returns what stats.json has of the process, and keeps the reading if it is a sample.
func (r *registries) examine(now time.Time, sampled bool) map[string]any {
	largest, at := r.largest(), readVitals()
	count, length, end := r.stops.Last()
	r.checking.Lock()
	defer r.checking.Unlock()
	all, n := append(r.readings, at), len(r.readings)
	busy := func(intervals int) float64 { return at.Busy(all[max(n-intervals, 0)]) }
	var found []finding
	recent, last := busy(2), all[max(n-1, 0)]
	if suffer := recent > 0.25; at.Limit > 0 && at.Heap >= 0.9*at.Limit && (suffer || min(at.Heap, last.Heap) > overLimit*at.Limit) {
		found = append(found, finding{Cause: sources.MemoryLimit, Level: levelOf(suffer), Words: fmt.Sprintf(
			"Memory is full: %.0f of %.0f MB (GOMEMLIMIT) are in use, and the collector took %s of the CPU in the last 10 s, %s in a minute. %s",
			at.Heap/1e6, at.Limit/1e6, percent(recent), percent(busy(samplesPerMinute)), largest)})
	}
	found = r.health.memory.update(now, found)
	if ago := now.Sub(end); count > 0 && ago >= 0 && ago < shown {
		found = append(found, finding{sources.WasStopped, fmt.Sprintf("The process was stopped for %s, until %s ago, by a signal, a debugger or a machine that stood still, or its clock was set forward. What timed out then has this cause.", span(length), span(ago)),
			warning, (ago + length).Seconds(), max(ago.Seconds(), 0.001)})
	}
	process := map[string]any{
		"pid": os.Getpid(), "version": vitals.Version(), "started": started, "findings": found, "stopped_seconds": length.Seconds(),
		"heap_bytes": at.Heap, "memory_limit_bytes": at.Limit, "collector_share": busy(samplesPerMinute),
	}
	if sampled {
		r.readings = all[max(n-samplesPerMinute+1, 0):]
	}
	return process
}

// largest names the cache that has the most, by its last sample. An entry counts as 100 bytes, if it has no
// weight in bytes.
func (r *registries) largest() (words string) {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	var most uint64
	for name, reg := range r.caches.byName {
		for _, last := range reg.history[max(len(reg.history)-1, 0):] {
			s := &last.stats
			size := 100 * uint64(s.Entries)
			if s.MaxWeight >= bytesFrom {
				size = max(size, s.Weight)
			}
			if size > most {
				most, words = size, fmt.Sprintf("The largest cache is %q, with %d entries: lower its limit, or raise GOMEMLIMIT.", name, s.Entries)
			}
		}
	}
	return words
}

// processMetrics are what /metrics has of the process, with pinwheel_process_ before.
var processMetrics = [...]struct{ name, kind, help string }{
	{"heap_bytes", gauge, "Memory in use, as the memory limit of the Go runtime counts it."},
	{"memory_limit_bytes", gauge, "The memory limit of the Go runtime; 0 if there is none."},
	{"collector_seconds_total", counter, "CPU time of the garbage collector, as of the last collection."},
	{"cpu_available_seconds_total", counter, "CPU time that there was, GOMAXPROCS times the time, as of the last collection."},
	{"stops_total", counter, "Times in which the process did not run for 10 seconds or more, since somebody first asked for statistics."},
}

func (r *registries) writeProcess(to io.Writer) (err error) {
	at := readVitals()
	stops, _, _ := r.stops.Last()
	for i, v := range [...]float64{at.Heap, at.Limit, at.Collector, at.CPU, float64(stops)} {
		if m := &processMetrics[i]; err == nil {
			_, err = fmt.Fprintf(to, "# HELP pinwheel_process_%s %s\n# TYPE pinwheel_process_%[1]s %[3]s\npinwheel_process_%[1]s %[4]v\n", m.name, m.help, m.kind, v)
		}
	}
	return err
}
