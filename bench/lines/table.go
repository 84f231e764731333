package main

import (
	"fmt"
	"strings"
)

// A row is an operation of pinwheel, traced on the first of two processors.
type row struct {
	operation string
	prepare   func(w *pinwheel, l *biased, key int)
	do        func(w *pinwheel, p *proc, key int)
}

const there, absent = 1, 2 // keys

func biasOff(_ *pinwheel, l *biased, _ int) { l.on, l.keep = false, false }

func fewHits(w *pinwheel, _ *biased, key int) { w.content.marks[w.slot[key]] = 1 }

var rows = []row{
	{"hit of `Get`, `Peek` or `Take`", nil, (*pinwheel).get},
	{"the first three hits since eviction last passed the entry", fewHits, (*pinwheel).get},
	{"a miss", nil, (*pinwheel).get},
	{"a hit, bias off", biasOff, (*pinwheel).get},
	{"`Touch`, if it moves the deadline", nil, (*pinwheel).touch},
	{"`Set` of a present key", nil, (*pinwheel).set},
	{"the same, bias off", biasOff, (*pinwheel).set},
	{"`Set` of a new key in a full cache, bias off", biasOff, (*pinwheel).set},
	{"`Set` of a new key in a cache that fills, bias off", biasOff, (*pinwheel).insert},
}

// table returns the lines that operations of pinwheel write, and those they read that others
// write.
func table() string {
	var b strings.Builder
	b.WriteString("| | writes | reads, of what others write |\n|---|---|---|\n")
	for _, r := range rows {
		key := there
		if strings.Contains(r.operation, "new") || strings.Contains(r.operation, "miss") {
			key = absent
		}
		writes, reads := r.trace(key)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.operation, writes, reads)
	}
	return b.String()
}

// trace does an operation and returns the names of the lines it wrote, and of those it read.
func (r row) trace(key int) (writes, reads string) {
	m := newMachine(2, 2, epyc, 1)
	c := newContent(1, []uint32{there}, 1)
	for i := range c.key[1:] {
		c.replace(10 + i)
	}
	w := makePinwheel(m, c, work{})
	c.hand[0] = 1 // the present key is not the next victim
	w.content.marks[w.slot[there]] = maxMark
	if r.prepare != nil {
		r.prepare(w, w.locks[0], key)
	}
	var written, read tally
	m.trace = func(_ *proc, l line, write bool) {
		if write {
			written.add(m.name(l), l)
		} else if m.name(l) != "header" { // which nobody writes
			read.add(m.name(l), l)
		}
	}
	m.run(func(p *proc) {
		if p.id == 0 {
			r.do(w, p, key)
		}
	})
	return written.String(), read.without(written).String()
}

// A tally is the lines of each name, in the order in which they came.
type tally struct {
	names []string
	lines map[string]map[line]int
}

func (t *tally) add(name string, l line) {
	if t.lines[name] == nil {
		if t.lines == nil {
			t.lines = make(map[string]map[line]int)
		}
		t.lines[name] = make(map[line]int)
		t.names = append(t.names, name)
	}
	t.lines[name][l]++
}

// without returns t without the lines of another one.
func (t tally) without(other tally) (rest tally) {
	for _, name := range t.names {
		for l, n := range t.lines[name] {
			if other.lines[name][l] == 0 {
				for range n {
					rest.add(name, l)
				}
			}
		}
	}
	return rest
}

// String names each line once, with how many there are if there are several.
func (t tally) String() string {
	var parts []string
	for _, name := range t.names {
		part := name
		if n := len(t.lines[name]); n > 1 {
			part = fmt.Sprintf("%s (%d)", name, n)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
