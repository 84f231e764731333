package near

import (
	"maps"
	"slices"
	"sync"
)

// members know which keys in memory belong to which groups, and which keys are being loaded, of
// which nobody knows that yet. Hits do not look here. Entries that leave memory are not told
// here either: who adds a membership looks at the oldest ones, and sweeps those without an entry.
type members[K comparable] struct {
	mu      sync.Mutex
	loading map[K]int               // how many loads of a key are under way
	byGroup map[string]map[K]uint64 // the memberships, by their numbers
	queue   []membership[K]         // each of them once, and some that are gone
	last    uint64                  // the number of the latest
}

// A membership says that a key belongs to a group.
type membership[K comparable] struct {
	key    K
	group  string
	number uint64
}

const (
	fewMembers  = 64 // are not swept
	sweptAtOnce = 2  // for each that is added
)

// begin notes that loads of keys begin; end must follow.
func (m *members[K]) begin(keys ...K) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loading == nil {
		m.loading, m.byGroup = make(map[K]int), make(map[string]map[K]uint64)
	}
	for _, key := range keys {
		m.loading[key]++
	}
	return func() { m.end(keys) }
}

func (m *members[K]) end(keys []K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if m.loading[key]--; m.loading[key] == 0 {
			delete(m.loading, key)
		}
	}
}

// join notes that a key which is being loaded belongs to groups. If there are many more
// memberships than entries in memory, it takes the oldest ones from the queue, for the
// caller to sweep or keep each.
func (m *members[K]) join(key K, groups []string, entries int) (oldest []membership[K]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, group := range groups {
		if m.byGroup[group] == nil {
			m.byGroup[group] = make(map[K]uint64)
		}
		if m.byGroup[group][key] == 0 {
			m.last++
			m.byGroup[group][key] = m.last
			m.queue = append(m.queue, membership[K]{key, group, m.last})
		}
	}
	for range sweptAtOnce * len(groups) {
		if len(m.queue) <= 2*entries+fewMembers {
			break
		}
		one := m.queue[0]
		m.queue = m.queue[1:]
		if m.byGroup[one.group][one.key] == one.number {
			oldest = append(oldest, one)
		}
	}
	return oldest
}

// keep puts a membership back into the queue.
func (m *members[K]) keep(one membership[K]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, one)
}

// sweep ends a membership without an entry. The caller must then drop the key: a load that has
// joined meanwhile is not kept.
func (m *members[K]) sweep(one membership[K]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in := m.byGroup[one.group]; in[one.key] == one.number {
		delete(in, one.key)
		if len(in) == 0 {
			delete(m.byGroup, one.group)
		}
	}
}

// leave ends all memberships in a group. It returns their keys, and those that are being loaded:
// their values may belong to the group, too. The caller must drop all of them.
func (m *members[K]) leave(group string) (keys []K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys = slices.AppendSeq(keys, maps.Keys(m.byGroup[group]))
	delete(m.byGroup, group)
	return slices.AppendSeq(keys, maps.Keys(m.loading))
}
