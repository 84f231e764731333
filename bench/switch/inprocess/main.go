// Command inprocess does with two caches what the service does, as fast as it can, without
// HTTP and database. It prints the cost as JSON. Command switch builds it a second time with
// the import of collection changed.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/bench/switch/traffic"
)

const threads = 8

func main() {
	n := flag.Int("n", 1_000_000, "operations")
	flag.Parse()
	plan := traffic.Load(1, 1000, time.Duration(*n)*time.Millisecond)
	d := newDriver(plan)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, busy := time.Now(), cputime.Used()
	d.drive()
	took, used := time.Since(began), cputime.Used()-busy
	runtime.ReadMemStats(&after)
	perOp := func(total float64) float64 { return total / float64(*n) }
	err := json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"cpu":    perOp(float64(used.Nanoseconds())),
		"wall":   perOp(float64(took.Nanoseconds())),
		"allocs": perOp(float64(after.Mallocs - before.Mallocs)),
		"bytes":  perOp(float64(after.TotalAlloc - before.TotalAlloc)),
		"idle":   float64(d.idle().Nanoseconds()),
	})
	if err != nil {
		log.Fatal(err)
	}
}

type driver struct {
	items, sessions *collection.Cache
	keys            []string
	plan            traffic.Plan
	value           any
}

func newDriver(plan traffic.Plan) *driver {
	items, err := collection.NewCache(5*time.Second, collection.WithName("items"), collection.WithLimit(2000))
	if err != nil {
		log.Fatal(err)
	}
	sessions, err := collection.NewCache(plan.TTL, collection.WithName("sessions"), collection.WithLimit(100_000))
	if err != nil {
		log.Fatal(err)
	}
	d := &driver{items: items, sessions: sessions, plan: plan, value: new(int)}
	for i := range max(plan.Items, len(plan.TTLs)) {
		d.keys = append(d.keys, strconv.Itoa(i))
	}
	return d
}

// drive shares the operations among threads, each of which does its part in order.
func (d *driver) drive() {
	ops := d.plan.Ops
	var done sync.WaitGroup
	for t := range threads {
		done.Go(func() {
			for i := t; i < len(ops); i += threads {
				d.do(ops[i])
			}
		})
	}
	done.Wait()
}

// idle returns the processor time of a second in which nobody uses the caches, whose entries
// will expire later.
func (d *driver) idle() time.Duration {
	const seconds = 2
	for _, key := range d.keys {
		d.items.SetWithExpire(key, d.value, time.Hour)
		d.sessions.SetWithExpire(key, d.value, time.Hour)
	}
	busy := cputime.Used()
	time.Sleep(seconds * time.Second)
	return (cputime.Used() - busy) / seconds
}

// do does with the caches what a handler of the service does.
func (d *driver) do(op traffic.Op) {
	key := d.keys[op.ID]
	switch op.Kind {
	case traffic.Read:
		_, _ = d.items.Take(key, d.fetch) // fetch returns no error
	case traffic.Write, traffic.Remove:
		d.items.Del(key)
	case traffic.Beat:
		if ttl := d.plan.TTLs[op.ID]; ttl == d.plan.TTL {
			d.sessions.Set(key, d.value)
		} else {
			d.sessions.SetWithExpire(key, d.value, ttl)
		}
	case traffic.Look:
		d.sessions.Get(key)
	}
}

func (d *driver) fetch() (any, error) { return d.value, nil }
