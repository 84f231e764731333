package main

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const unknown = ^uint64(0) // the number of a value that was not seen

// batch does n operations and counts them.
func (t *target[K, V]) batch(h *hand, m *mix, n int) {
	for range n {
		o := m.choose(h.rng)
		key := h.rng.IntN(t.size)
		if h.rng.Uint32()%4 == 0 {
			key %= 8 // the hot keys
		}
		t.operate(h, o, key)
	}
	t.settle(h)
}

// settle adds the counts of a hand to those of the target.
func (t *target[K, V]) settle(h *hand) {
	t.gets.Add(h.gets)
	t.hits.Add(h.hits)
	t.misses.Add(h.misses)
	t.stores.Add(h.stores)
	h.gets, h.hits, h.misses, h.stores = 0, 0, 0, 0
}

// operate does one operation and checks the answer.
func (t *target[K, V]) operate(h *hand, o op, key int) {
	if o > opPeek && o < opLen && t.records[key].crowded.Load() {
		o = opGet
	}
	h.counts[o]++
	if t.options.Idle > 0 && o < opLen && o != opPeek {
		r := &t.records[key]
		v, w := r.look(), r.uses.begin()
		tb := now()
		found := t.perform(h, o, key)
		certain := o == opGet && v.sure && r.begun.Load() == v.begun // and no older load is stored meanwhile
		t.wrong(key, opNames[o], r.uses.end(w, tb, now(), int64(t.options.Idle), found && certain))
		return
	}
	t.perform(h, o, key)
}

// perform does one operation. It reports whether a value was found.
func (t *target[K, V]) perform(h *hand, o op, key int) bool {
	switch o {
	case opGet, opPeek:
		return t.read(h, key, o == opPeek)
	case opSet:
		t.set(h, key, t.options.Expire, t.store.Set)
	case opSetTTL:
		ttl := t.ttl(h)
		t.set(h, key, ttl, func(key K, value V) { t.store.SetWithExpire(key, value, ttl) })
	case opTouch:
		t.touch(h, key)
	case opDel:
		t.del(h, key)
	case opGetOrSet:
		t.getOrSet(h, key)
	case opCompute:
		t.compute(h, key)
	case opTake:
		t.take(h, key)
	case opTakeCtx:
		t.takeCtx(h, key)
	case opLen:
		t.measure()
	}
	return false
}

// expiries is the time between two moments at which many values expire together.
const expiries = int64(500 * time.Millisecond)

// ttl returns a TTL around that of the options, at least a millisecond.
func (t *target[K, V]) ttl(h *hand) time.Duration {
	if h.together {
		return time.Duration(expiries - now()%expiries)
	}
	usual := t.options.Expire
	if usual == 0 {
		usual = time.Second
	}
	switch h.rng.IntN(64) {
	case 0:
		return 0
	case 1:
		return time.Millisecond
	}
	return time.Millisecond + time.Duration(h.rng.Int64N(int64(usual*2)))
}

func (t *target[K, V]) read(h *hand, key int, peek bool) bool {
	r := &t.records[key]
	v := r.look()
	var value V
	var found bool
	tb := now()
	if peek {
		value, found = t.store.Peek(t.keys[key])
	} else {
		value, found = t.store.Get(t.keys[key])
		h.gets++
	}
	if found {
		t.wrong(key, "Get", r.judge(v, tb, tb, t.numberOf(key, "Get", value), true))
	} else {
		t.wrong(key, "Get", r.judge(v, tb, now(), 0, false))
	}
	switch {
	case peek:
	case found:
		h.hits++
	default:
		h.misses++
	}
	return found
}

// judgeFound checks an answer that says only whether there was a value.
func (t *target[K, V]) judgeFound(key int, c *change, found bool) {
	number := unknown
	if c.was.sure && c.was.present != 0 {
		number = c.was.present
	}
	t.wrong(key, c.kind.String(), t.records[key].judge(c.was, c.began, now(), number, found))
}

func (t *target[K, V]) begin(key int, k kind, l life) change {
	c, wrong := t.records[key].begin(k, l, moment{})
	t.wrong(key, k.String(), wrong)
	return c
}

// value returns the value that a change offers.
func (t *target[K, V]) value(key int, c *change) V { return t.form.value(idOf(key, c.number)) }

func (t *target[K, V]) set(h *hand, key int, ttl time.Duration, store func(K, V)) {
	c := t.begin(key, set, t.life(ttl, false))
	store(t.keys[key], t.value(key, &c))
	t.records[key].stored(&c)
	h.stores++
}

func (t *target[K, V]) touch(h *hand, key int) {
	ttl := t.ttl(h)
	c := t.begin(key, touch, t.life(ttl, true))
	found := t.store.Touch(t.keys[key], ttl)
	t.judgeFound(key, &c, found)
	t.records[key].touched(&c, found)
}

func (t *target[K, V]) del(h *hand, key int) {
	k, remove := del, t.store.Del
	switch h.rng.Uint32() % 8 {
	case 0:
		remove = func(key K) bool { return t.store.Touch(key, -time.Second) }
	case 1: // without Grace it removes at once, too
		k, remove = expire, t.store.Expire
	}
	c := t.begin(key, k, life{})
	found := remove(t.keys[key])
	t.judgeFound(key, &c, found)
	t.records[key].removed(&c)
}

func (t *target[K, V]) getOrSet(h *hand, key int) {
	c := t.begin(key, getOrSet, t.life(t.options.Expire, false))
	value, loaded := t.store.GetOrSet(t.keys[key], t.value(key, &c))
	h.gets++
	number := t.numberOf(key, "GetOrSet", value)
	t.wrong(key, "GetOrSet", t.records[key].judge(c.was, c.began, now(), number, loaded))
	if loaded {
		t.wrong(key, "GetOrSet", t.records[key].kept(&c))
	} else {
		t.records[key].stored(&c)
		h.stores++
	}
}

// compute sets, removes or keeps the value of a key.
func (t *target[K, V]) compute(h *hand, key int) {
	r := &t.records[key]
	do := [...]cache.Op{cache.OpSet, cache.OpSet, cache.OpDelete, cache.OpKeep}[h.rng.Uint32()%4]
	k := attempt
	if do == cache.OpSet {
		k = compute
	}
	var c change
	v, tb := r.look(), now()
	t.store.Compute(t.keys[key], func(old V, found bool) (V, cache.Op) {
		if c.version != 0 { // its earlier calls do not count
			t.wrong(key, "Compute", r.kept(&c))
		}
		number := uint64(0)
		if found {
			number = t.numberOf(key, "Compute", old)
		}
		t.wrong(key, "Compute", r.judge(v, tb, now(), number, found))
		c = t.begin(key, k, t.life(t.options.Expire, false))
		return t.value(key, &c), do
	})
	switch do {
	case cache.OpSet:
		r.stored(&c)
		h.stores++
	case cache.OpDelete:
		r.removed(&c)
	default:
		t.wrong(key, "Compute", r.kept(&c))
	}
}

// measure checks the limits.
func (t *target[K, V]) measure() {
	if n, limit, exceeded := t.bound.exceeded(t.store.Len); exceeded {
		t.unfit("Len is %d, the limit is %d", n, limit)
	}
}

// measureAll checks the limits, and what takes longer to check.
func (t *target[K, V]) measureAll() {
	t.measure()
	// Not s.Entries: Stats reads one shard after another and may count a few too many.
	if s := t.store.Stats(); s.Weight > s.MaxWeight {
		t.unfit("the entries weigh %d, the limit is %d", s.Weight, s.MaxWeight)
	}
}

// scan iterates over all entries and checks each as a read.
func (t *target[K, V]) scan(whole bool) {
	views, seen := make([]view, t.size), make([]uint64, t.size)
	for i := range t.records {
		views[i] = t.records[i].look()
	}
	left := t.size / 2
	tb := now()
	for k, value := range t.store.All() {
		key := t.index[k]
		n := t.numberOf(key, "All", value)
		if n == seen[key] {
			t.wrong(key, "All", "the same value was seen twice")
		}
		seen[key] = n
		t.wrong(key, "All", t.records[key].judge(views[key], tb, now(), n, true))
		if left--; left < 0 && !whole {
			return
		}
	}
	te := now()
	for key := range seen {
		if seen[key] == 0 {
			t.wrong(key, "All", t.records[key].judge(views[key], tb, te, 0, false))
		}
	}
}

// clear empties the cache.
func (t *target[K, V]) clear() {
	changes := make([]change, t.size)
	for i := range changes {
		changes[i] = t.begin(i, cleared, life{})
	}
	t.clears.Add(1)
	t.store.Clear()
	for i := range changes {
		t.records[i].removed(&changes[i])
	}
}

// resize gives the cache another limit, if it has several.
func (t *target[K, V]) resize(h *hand) {
	if t.limits == nil {
		return
	}
	limit := t.limits[h.rng.IntN(len(t.limits))]
	t.bound.change(limit, func() {
		if err := t.store.Resize(limit); err != nil {
			t.unfit("Resize(%d): %v", limit, err)
		}
	})
}
