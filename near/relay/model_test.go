package relay

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A model has a database, a Redis that may lose its last writes, two relays that stop anywhere, and an instance
// with the real listener. Each action takes a moment; the number of the action is the time.
type model struct {
	now     int
	changed map[string][]int // the times of the changes of each key
	store   stored
	saved   []stored // to which the store may go back
	pushes  []push   // to the instance, in order
	relays  [2]modelRelay
	began   int // relays
	design  design

	l      *listener
	memory map[string]int // when the value was read in the database
	given  vouch
	wrong  string
}

// A design says what is left out of the protocol.
type design struct{ unfenced, nameless, hasty bool }

// A stored is what Redis has.
type stored struct {
	values map[string]int // when the value was read in the database
	beat   redis.Beat
	step   int // of the relay of the beat
}

// A push is a key or a beat that is told, or the answer to a question.
type push struct {
	key   string
	asked int
}

// A modelRelay is a relay. It has begun if it has a name.
type modelRelay struct {
	name  string
	beats uint64   // that it has written
	steps int      // that it has made
	fresh bool     // it has removed everything
	polls int      // up to when it has asked the database
	keys  []string // to be removed
	asked bool     // the database, since the last beat
}

var modelKeys = []string{"a", "b", "c"}

func newModel(d design) *model {
	m := &model{changed: map[string][]int{}, store: stored{values: map[string]int{}}, memory: map[string]int{}, design: d}
	var told []string
	m.l = newListener(&told)
	m.l.Watcher, m.l.maxLag = m, time.Hour
	m.l.give = func(v vouch) { m.given = v }
	m.l.ChangedAll()
	return m
}

// The model is the watcher behind the listener.
func (m *model) Changed(keys ...string) {
	for _, key := range keys {
		delete(m.memory, key)
	}
}

func (m *model) ChangedAll() { clear(m.memory) }
func (m *model) Lost(error)  {}

// Current finds values in memory that were replaced before what is vouched for.
func (m *model) Current(asOf time.Time) { m.judge("memory", m.memory, asOf) }

func (m *model) judge(where string, values map[string]int, asOf time.Time) {
	for key, read := range values {
		for _, changed := range m.changed[key] {
			if read < changed && at(changed).Before(asOf) {
				m.wrong = fmt.Sprintf("%s has %s as of %d, which changed at %d, and %v is vouched for", where, key, read, changed, asOf.Sub(zero))
			}
		}
	}
}

func (m *model) push(key string) { m.pushes = append(m.pushes, push{key: key}) }

// write changes Redis by a relay. It returns false if another one has begun, or steps were lost.
func (m *model) write(r *modelRelay, f func()) bool {
	if (m.store.beat.Relay != r.name || m.store.step != r.steps) && !m.design.unfenced {
		*r = modelRelay{}
		return false
	}
	m.save()
	f()
	r.steps++
	m.store.step = r.steps
	return true
}

// save keeps what Redis has, for a failover.
func (m *model) save() {
	m.saved = append(m.saved, stored{maps.Clone(m.store.values), m.store.beat, m.store.step})
}

func (m *model) remove(keys ...string) {
	for _, key := range keys {
		if _, ok := m.store.values[key]; ok { // else nobody is told
			delete(m.store.values, key)
			m.push(key)
		}
	}
}

// step lets a relay do what it does next.
func (m *model) step(r *modelRelay) {
	switch {
	case r.name == "":
		m.began++
		*r = modelRelay{name: fmt.Sprint(m.began), polls: m.now}
		if m.design.nameless { // it goes on with the numbers of the last one
			r.name, r.beats = "x", m.store.beat.Number
		}
		m.save()
		m.store.beat, m.store.step = redis.Beat{Relay: r.name, Number: r.beats}, 0
		r.fresh = m.design.nameless
	case !r.fresh:
		r.fresh = m.write(r, func() { m.remove(modelKeys...) })
	case !r.asked:
		for _, key := range modelKeys {
			if slices.ContainsFunc(m.changed[key], func(c int) bool { return c >= r.polls }) {
				r.keys = append(r.keys, key)
			}
		}
		r.polls, r.asked = m.now, true
	case len(r.keys) > 0 && !m.design.hasty:
		m.write(r, func() { m.remove(r.keys[0]); r.keys = r.keys[1:] })
	default:
		m.write(r, func() {
			r.beats++
			m.store.beat = redis.Beat{Relay: r.name, Number: r.beats}
			m.push(fmt.Sprintf("beat:%s:%d", r.name, r.beats))
			m.remove(r.keys...)
			r.keys, r.asked = nil, false
		})
	}
}

// deliver tells the listener the next push.
func (m *model) deliver() {
	if len(m.pushes) == 0 {
		return
	}
	p := m.pushes[0]
	m.pushes = m.pushes[1:]
	if p.key != "" {
		m.l.Changed(p.key)
	} else {
		m.l.Current(at(p.asked))
	}
}

// read takes a value into memory, from Redis if the vouch allows that, else from the database.
func (m *model) read(key string) {
	if !m.given.asOf.IsZero() && m.given.reached(m.store.beat) {
		m.judge("Redis", m.store.values, m.given.asOf)
		if _, ok := m.store.values[key]; !ok {
			m.store.values[key] = m.now
			m.push(key) // the lease
		}
		m.memory[key] = m.store.values[key]
	}
}

// failover has Redis go back to what it had before some of the writes. The instance is told that it connects
// anew, and so is nothing of what was on its way.
func (m *model) failover(lost int) {
	if len(m.saved) == 0 {
		return
	}
	kept := max(0, len(m.saved)-1-lost)
	m.store, m.saved, m.pushes = m.saved[kept], m.saved[:kept], nil
	m.l.Lost(nil)
	m.l.ChangedAll()
}

// run makes some actions at random, and returns what was wrong.
func (m *model) run(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		m.now++
		key := modelKeys[random.IntN(len(modelKeys))]
		switch n := random.IntN(100); {
		case n < 10:
			m.changed[key] = append(m.changed[key], m.now)
		case n < 20:
			m.pushes = append(m.pushes, push{asked: m.now})
		case n < 35:
			m.read(key)
		case n < 37:
			m.remove(key) // it expires, or somebody removes it
		case n < 38:
			m.failover(random.IntN(3))
		case n < 39:
			m.relays[0] = modelRelay{} // killed
		case n < 41:
			m.step(&m.relays[1])
		case n < 65:
			m.step(&m.relays[0])
		default:
			m.deliver()
		}
		if m.wrong != "" {
			return m.wrong
		}
	}
	return ""
}

// TestModel has relays that are killed or overtaken anywhere, and a Redis that loses writes.
//
// Catches: a moment that is vouched for though a value that was replaced before it is in memory, or in a Redis that
// is read.
func TestModel(t *testing.T) {
	vouched := 0
	for seed := range uint64(3000) {
		m := newModel(design{})
		if wrong := m.run(seed); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
		if !m.given.asOf.IsZero() {
			vouched++
		}
	}
	if vouched < 1000 {
		t.Errorf("only in %d of 3000 runs something was vouched for", vouched)
	}
}

// Catches: a model that finds nothing wrong in a protocol without one of its parts: relays that do not look for the
// steps before theirs, relays that go on with the numbers of another, beats that are not written after
// the removals.
func TestModelSeesNaiveDesigns(t *testing.T) {
	for name, d := range map[string]design{
		"steps are not fenced":             {unfenced: true},
		"numbers of beats are not unique":  {nameless: true},
		"the beat comes with the removals": {hasty: true},
	} {
		t.Run(name, func(t *testing.T) {
			found := ""
			for seed := uint64(0); found == "" && seed < 3000; seed++ {
				found = newModel(d).run(seed)
			}
			t.Log(found)
			if found == "" {
				t.Error("the model finds nothing")
			}
		})
	}
}
