package main

import "math/bits"

const (
	ringSize = 16
	retries  = 100
)

// An otter is otter's cache: a map with a lock for each bucket, a lossy buffer for reads
// in stripes, a buffer for writes, and maintenance by one goroutine at a time under a
// mutex. It is scheduled on the processor that finds a buffer full, where it runs when the
// processor's goroutine yields or its time slice is over.
type otter struct {
	*content
	costs                     work
	buckets                   []*mutex
	memory                    array // of buckets
	nodes                     array // a header with links, key and value
	sketch                    array
	rings                     []ring
	status                    line // of maintenance
	state                     status
	eviction                  mutex
	policy                    line // sizes, and the ends of the queues
	queue                     []task
	room                      int
	producer, consumer, limit line
	slots                     array // of queue
	pushed                    int
}

type status int

const (
	idle status = iota
	required
	toIdle
	toRequired
)

type task struct{ slot int }

// A ring is a stripe of the read buffer.
type ring struct {
	head, tail, slots line
	nodes             []int
}

func newOtter(m *machine, c *content, costs work) cache {
	procs := 1 << bits.Len(uint(len(m.procs)-1))
	o := &otter{content: c, costs: costs, room: 128 * procs}
	o.memory = m.array("bucket", 1<<bits.Len(keys/5), 64)
	o.buckets = make([]*mutex, 1<<bits.Len(keys/5))
	for i := range o.buckets {
		o.buckets[i] = &mutex{line: o.memory.at(i)}
	}
	o.nodes = m.array("node", c.shards*c.perShard, 64)
	o.sketch = m.array("sketch", keys, 8)
	for range 4 * procs {
		r := m.array("ring", 4, 64)
		o.rings = append(o.rings, ring{r.at(0), r.at(1), r.at(2), nil})
	}
	o.status = m.array("status", 1, 64).first
	o.eviction.line = m.array("eviction mutex", 1, 64).first
	o.policy = m.array("policy", 1, 64).first
	o.producer = m.array("producer", 1, 64).first
	o.consumer = m.array("consumer", 1, 64).first
	o.limit = m.array("limit", 1, 64).first
	o.slots = m.array("task", o.room, 8)
	return o
}

func (o *otter) bucket(key int) int { return int(o.hash[key] >> 20 % uint64(len(o.buckets))) }

func (o *otter) get(p *proc, key int) {
	o.preempt(p)
	p.work(o.costs.get)
	p.read(o.memory.at(o.bucket(key)))
	slot, ok := o.find(key)
	if ok {
		p.read(o.nodes.at(slot))
		o.afterRead(p, slot)
		return
	}
	if p.read(o.status); o.state == required {
		o.schedule(p)
	}
}

// afterRead adds to the read buffer, or gives up.
func (o *otter) afterRead(p *proc, slot int) {
	o.hit(slot)
	r := &o.rings[p.hint%uint64(len(o.rings))]
	p.read(r.head)
	p.read(r.tail)
	full := len(r.nodes) >= ringSize
	if !full {
		p.atomic(r.tail)
		if len(r.nodes) < ringSize { // else another one was faster, and this one gives up
			r.nodes = append(r.nodes, slot)
			p.write(r.slots)
		}
		full = len(r.nodes) == ringSize
	}
	if p.read(o.status); o.state == required || o.state == idle && full {
		o.schedule(p)
	}
}

func (o *otter) set(p *proc, key int) {
	o.preempt(p)
	p.work(o.costs.set)
	b := o.buckets[o.bucket(key)]
	b.lock(p)
	slot, ok := o.find(key)
	if ok {
		p.write(o.nodes.at(slot))
		b.unlock(p)
		o.afterRead(p, slot)
		return
	}
	slot = o.reserve(key)
	p.write(o.nodes.at(slot))
	p.write(b.line)
	b.unlock(p)
	o.afterWrite(p, task{slot})
}

// reserve gives a new key the slot of the one that its maintenance will evict.
func (o *otter) reserve(key int) (slot int) {
	for o.spare(o.shard(key)) {
	}
	return o.replace(key)
}

func (o *otter) afterWrite(p *proc, t task) {
	for range retries {
		if o.push(p, t) {
			o.scheduleAfterWrite(p)
			return
		}
		o.schedule(p)
		o.gosched(p)
	}
	o.eviction.lock(p)
	o.maintain(p, t)
}

func (o *otter) push(p *proc, t task) bool {
	p.read(o.limit)
	p.read(o.producer)
	if len(o.queue) >= o.room {
		p.read(o.consumer)
		return false
	}
	p.atomic(o.producer)
	p.write(o.slots.at(o.pushed % o.room))
	o.pushed++
	o.queue = append(o.queue, t)
	return true
}

func (o *otter) scheduleAfterWrite(p *proc) {
	p.read(o.status)
	switch o.state {
	case idle:
		p.atomic(o.status)
		if o.state == idle {
			o.state = required
		}
		o.schedule(p)
	case required:
		o.schedule(p)
	case toIdle:
		p.atomic(o.status)
		if o.state == toIdle {
			o.state = toRequired
		}
	}
}

// schedule starts a goroutine for maintenance, unless there is one.
func (o *otter) schedule(p *proc) {
	if p.read(o.status); o.state >= toIdle || !o.eviction.tryLock(p) {
		return
	}
	if o.state < toIdle {
		p.write(o.status)
		o.state = toIdle
		p.work(goTime)
		p.background = func() {
			o.eviction.lock(p)
			o.maintain(p)
		}
	}
	o.eviction.unlock(p)
}

// gosched lets maintenance run if it waits for this processor.
func (o *otter) gosched(p *proc) {
	p.work(yieldTime)
	if f := p.background; f != nil {
		p.background = nil
		f()
	}
}

// preempt ends the time slice of the processor's goroutine.
func (o *otter) preempt(p *proc) {
	if p.now >= p.sliceEnd {
		p.sliceEnd = p.now + slice
		if p.background != nil {
			o.gosched(p)
		}
	}
}

// maintain empties the buffers, with the mutex, which it unlocks.
func (o *otter) maintain(p *proc, more ...task) {
	p.write(o.status)
	o.state = toIdle
	for i := range o.rings {
		o.drain(p, &o.rings[i])
	}
	for n := 0; len(o.queue) > 0 && n <= o.room; n++ {
		t := o.queue[0]
		o.queue = o.queue[1:]
		p.write(o.slots.at((o.pushed - len(o.queue)) % o.room))
		p.write(o.consumer)
		o.add(p, t)
	}
	for _, t := range more {
		o.add(p, t)
	}
	p.atomic(o.status)
	if o.state == toIdle {
		o.state = idle
	} else {
		o.state = required
	}
	o.eviction.unlock(p)
	if p.read(o.status); o.state == required {
		o.schedule(p)
	}
}

func (o *otter) drain(p *proc, r *ring) {
	p.read(r.head)
	if p.read(r.tail); len(r.nodes) == 0 {
		return
	}
	p.write(r.slots)
	for _, slot := range r.nodes {
		p.work(o.costs.evict / 4)
		p.write(o.sketch.at(int(o.key[slot])))
		o.relink(p, slot)
	}
	p.write(r.head)
	r.nodes = r.nodes[:0]
}

// relink moves a node in a queue and in the timer wheel.
func (o *otter) relink(p *proc, slot int) {
	for range 4 {
		p.write(o.nodes.at(o.neighbour(p, slot)))
	}
	p.write(o.nodes.at(slot))
	p.write(o.policy)
}

// add takes in a new node, and evicts another one.
func (o *otter) add(p *proc, t task) {
	p.work(o.costs.evict)
	p.write(o.sketch.at(int(o.key[t.slot])))
	o.relink(p, t.slot)
	victim := o.neighbour(p, t.slot)
	b := o.buckets[p.random.IntN(len(o.buckets))]
	b.lock(p)
	p.write(o.nodes.at(victim))
	b.unlock(p)
	o.relink(p, victim)
}
