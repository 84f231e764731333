package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A message is one of the plugin pgoutput, version 1 of its protocol, that a Log has use for.
type message any

type (
	begin struct {
		xid uint32
	}
	commit struct {
		end uint64 // the position after the transaction
	}
	// A relation describes a table before the first change of its rows, and after it was altered.
	relation struct {
		id      uint32
		columns []column
	}
	// A change has the row before and after it. One of them, or the old one if no column of the
	// identity has changed, is nil.
	change struct {
		relation uint32
		old, new []value
	}
	truncate struct {
		relations []uint32
	}
)

type column struct {
	name     string
	identity bool
	kind     uint32 // the id of the type
}

// A value is that of one column, as text.
type value struct {
	kind byte // valueText, valueNull or valueUnchanged
	text string
}

const (
	valueText      = 't'
	valueNull      = 'n'
	valueUnchanged = 'u' // stored apart from its row, and not sent
)

// decode returns the message in data, or nil if it is of no use. The message keeps nothing of data.
func decode(data []byte) (message, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("near/postgres: an empty message of pgoutput")
	}
	d := decoder{rest: data[1:]}
	var m message
	switch data[0] {
	case 'B':
		d.skip(16) // where it ends, and when
		m = begin{xid: d.uint32()}
	case 'C':
		d.skip(9) // flags, and where it begins
		m = commit{end: d.uint64()}
		d.skip(8)
	case 'R':
		m = d.relation()
	case 'I', 'U', 'D':
		m = d.change()
	case 'T':
		m = d.truncate()
	default:
		return nil, nil // an origin, a type, a message of a program
	}
	if d.short {
		return nil, fmt.Errorf("near/postgres: a message %q of pgoutput is wrong: % .32x", data[:1], data)
	}
	return m, nil
}

// A decoder reads a message. When that is too short, or wrong, it returns zeros from then on.
type decoder struct {
	rest  []byte
	short bool
}

func (d *decoder) take(n int) []byte {
	if d.short || n < 0 || n > len(d.rest) {
		d.short = true
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) skip(n int) { d.take(n) }

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint16() uint16 {
	if b := d.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) string() string {
	s := d.take(bytes.IndexByte(d.rest, 0))
	d.skip(1)
	return string(s)
}

func (d *decoder) relation() relation {
	r := relation{id: d.uint32()}
	d.string() // its schema
	d.string() // its name
	d.skip(1)  // its identity
	for n := d.uint16(); n > 0 && !d.short; n-- {
		c := column{identity: d.byte()&1 != 0, name: d.string(), kind: d.uint32()}
		d.skip(4)
		r.columns = append(r.columns, c)
	}
	return r
}

func (d *decoder) change() change {
	c := change{relation: d.uint32()}
	for !d.short && len(d.rest) > 0 {
		switch d.byte() {
		case 'K', 'O':
			c.old = d.row()
		case 'N':
			c.new = d.row()
		default:
			d.short = true
		}
	}
	d.short = d.short || c.old == nil && c.new == nil
	return c
}

func (d *decoder) row() []value {
	row := []value{}
	for n := d.uint16(); n > 0 && !d.short; n-- {
		v := value{kind: d.byte()}
		switch v.kind {
		case valueText:
			v.text = string(d.take(int(d.uint32())))
		case valueNull, valueUnchanged:
		default:
			d.short = true
		}
		row = append(row, v)
	}
	return row
}

func (d *decoder) truncate() truncate {
	var t truncate
	n := d.uint32()
	d.skip(1) // CASCADE, RESTART IDENTITY
	for ; n > 0 && !d.short; n-- {
		t.relations = append(t.relations, d.uint32())
	}
	return t
}
