package main

import "math/bits"

// A phuslu is phuslu/lru's TTLCache: a mutex for each shard, a table with Robin Hood
// hashing, and a list in the order of use.
type phuslu struct {
	*content
	costs           work
	locks           []*mutex
	headers         array // of a shard, two lines each: mutex and slices; counters
	buckets         array
	perShardBuckets int
	nodes           array
	front           []int // the newest slot of a shard
}

func phusluShards(procs, _ int) int { return min(1<<bits.Len(uint(16*procs-1)), 512) }

func newPhuslu(m *machine, c *content, costs work) cache {
	u := &phuslu{content: c, costs: costs, perShardBuckets: 1 << bits.Len(uint(c.perShard*6/5)), front: make([]int, c.shards)}
	u.headers = m.array("shard", c.shards, 128)
	u.buckets = m.array("bucket", c.shards*u.perShardBuckets, 8)
	u.nodes = m.array("node", c.shards*(c.perShard+1), 32)
	for i := range c.shards {
		u.locks = append(u.locks, &mutex{line: u.headers.at(i)})
	}
	return u
}

func (u *phuslu) node(slot int) line { return u.nodes.at(slot + slot/u.perShard + 1) }

// root is the node at which the list of a shard begins and ends.
func (u *phuslu) root(shard int) line { return u.nodes.at(shard * (u.perShard + 1)) }

func (u *phuslu) bucket(key int) line { return u.buckets.at(u.group(key, u.perShardBuckets)) }

func (u *phuslu) get(p *proc, key int) {
	p.work(u.costs.get)
	s := u.shard(key)
	slot, ok := u.enter(p, s, key)
	if ok {
		u.toFront(p, s, slot)
		u.hit(slot)
	} else {
		p.write(u.headers.at(s) + 1)
	}
	u.locks[s].unlock(p)
}

// enter locks a shard, counts, and searches a key.
func (u *phuslu) enter(p *proc, s, key int) (slot int, ok bool) {
	u.locks[s].lock(p)
	p.write(u.headers.at(s) + 1)
	p.read(u.bucket(key))
	slot, ok = u.find(key)
	if ok {
		p.own(u.node(slot))
	}
	return slot, ok
}

// toFront makes a slot the newest: it writes it, its neighbours, the newest one and root.
func (u *phuslu) toFront(p *proc, s, slot int) {
	if u.front[s] == slot {
		p.read(u.root(s))
		return
	}
	p.write(u.root(s))
	p.write(u.node(u.neighbour(p, slot)))
	p.write(u.node(u.neighbour(p, slot)))
	p.write(u.node(slot))
	p.write(u.node(u.front[s]))
	u.front[s] = slot
}

func (u *phuslu) set(p *proc, key int) {
	p.work(u.costs.set)
	s := u.shard(key)
	slot, ok := u.enter(p, s, key)
	if ok {
		u.hit(slot)
	} else {
		p.work(u.costs.evict)
		p.own(u.root(s))
		for u.spare(s) { // an order by use needs none of this
		}
		slot = u.oldest(s)
		p.own(u.node(slot))
		if old := u.key[slot]; old >= 0 {
			p.write(u.bucket(int(old)))
		}
		p.write(u.bucket(key))
		u.replace(key)
	}
	u.toFront(p, s, slot)
	p.write(u.node(slot))
	u.locks[s].unlock(p)
}
