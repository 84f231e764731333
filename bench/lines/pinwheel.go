package main

import "math/bits"

// A pinwheel is this library's cache. The names of its arrays are those of the table in
// docs/performance.md, which is made from what its operations do here.
type pinwheel struct {
	*content
	costs       work
	locks       []*biased // of the shards
	header      array     // of a shard: where its arrays are, which only a change of size writes
	groups      array     // of the index, twelve keys each
	shardGroups int       // how many a shard has
	entries     array
	links       array // of the eviction order
	ends        array // of it, in each shard
	marks       array
	budget      line
}

func newPinwheel(m *machine, c *content, w work) cache { return makePinwheel(m, c, w) }

func makePinwheel(m *machine, c *content, costs work) *pinwheel {
	w := &pinwheel{content: c, costs: costs, shardGroups: c.perShard*20/17/12 + 1}
	n := c.shards * c.perShard
	w.header = m.array("header", c.shards, 64)
	bias, mu := m.array("bias", c.shards, 64), m.array("line of the shard", c.shards, 64)
	w.groups = m.array("index group", c.shards*w.shardGroups, 64)
	w.entries = m.array("entry", n, 24)
	w.links = m.array("links", n, 8)
	w.ends = m.array("end of the order", c.shards, 64)
	w.marks = m.array("marks", c.shards*marksLines(c.perShard), 64)
	w.budget = m.array("budget", 1, 64).first
	for i := range c.shards {
		w.locks = append(w.locks, newBiased(m, bias.at(i), mu.at(i)))
	}
	return w
}

// The constants of cache/table.go.
const (
	fewestPerShard, mostPerShard = 512, 4096
	shardsPerProc                = 16
)

func pinwheelShards(procs, limit int) int {
	n := 1 << bits.Len(uint(shardsPerProc*procs-1))
	perShard := max(fewestPerShard, min(mostPerShard, 2*mostPerShard/procs))
	for n > 1 && n*perShard > limit {
		n /= 2
	}
	return n
}

func (w *pinwheel) get(p *proc, key int) {
	p.work(w.costs.get)
	l := w.locks[w.shard(key)]
	stripe := l.rlock(p)
	slot, ok := w.look(p, key)
	if ok {
		p.read(w.entries.at(slot))
		w.mark(p, slot)
	}
	l.runlock(p, stripe, ok)
}

// touch is a Touch of a present key, which writes the deadline.
func (w *pinwheel) touch(p *proc, key int) {
	p.work(w.costs.get)
	l := w.locks[w.shard(key)]
	stripe := l.rlock(p)
	slot, _ := w.look(p, key)
	p.own(w.entries.at(slot))
	w.mark(p, slot)
	l.runlock(p, stripe, true)
}

// look searches the index.
func (w *pinwheel) look(p *proc, key int) (slot int, ok bool) {
	p.read(w.header.at(w.shard(key)))
	p.read(w.groups.at(w.group(key, w.shardGroups)))
	return w.find(key)
}

func (w *pinwheel) mark(p *proc, slot int) {
	l := w.marksOf(slot)
	if p.read(l); w.hit(slot) {
		p.atomic(l)
	}
}

// marksOf returns the line with the marks of a slot, two bits each. Shards share none.
func (w *pinwheel) marksOf(slot int) line {
	return w.marks.at(slot/w.perShard*marksLines(w.perShard) + slot%w.perShard/256)
}

func marksLines(perShard int) int { return (perShard + 255) / 256 }

func (w *pinwheel) set(p *proc, key int) {
	p.work(w.costs.set)
	l := w.locks[w.shard(key)]
	l.lock(p)
	if slot, ok := w.look(p, key); ok {
		p.own(w.entries.at(slot))
		w.mark(p, slot)
	} else {
		w.takeOver(p, key)
	}
	p.write(l.mutex.line) // removals
	l.unlock(p)
}

// takeOver stores a new key in the entry that is evicted for it.
func (w *pinwheel) takeOver(p *proc, key int) {
	p.work(w.costs.evict)
	s := w.shard(key)
	p.read(w.budget)
	p.own(w.ends.at(s))
	for i := w.oldest(s); w.spare(s); i = w.oldest(s) {
		w.toEnd(p, s, i)
	}
	i := w.oldest(s)
	p.own(w.entries.at(i))
	if old := w.key[i]; old >= 0 {
		p.write(w.groups.at(w.group(int(old), w.shardGroups)))
	}
	p.write(w.groups.at(w.group(key, w.shardGroups)))
	w.toEnd(p, s, i)
	p.write(w.entries.at(i))
	w.replace(key)
}

// toEnd makes the oldest slot of a shard the newest.
func (w *pinwheel) toEnd(p *proc, shard, slot int) {
	p.write(w.marksOf(slot))
	p.write(w.links.at(slot))
	p.write(w.links.at(w.neighbour(p, slot)))
	p.write(w.links.at(w.neighbour(p, slot)))
	p.write(w.ends.at(shard))
}

// insert is a Set of a new key in a cache that is not full yet.
func (w *pinwheel) insert(p *proc, key int) {
	p.work(w.costs.set)
	s := w.shard(key)
	l := w.locks[s]
	l.lock(p)
	p.read(w.header.at(s))
	p.own(w.groups.at(w.group(key, w.shardGroups)))
	p.atomic(w.budget)
	w.toEnd(p, s, w.oldest(s))
	p.write(w.entries.at(w.oldest(s)))
	w.replace(key)
	l.unlock(p)
}
