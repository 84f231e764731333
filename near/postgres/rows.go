package postgres

import (
	"fmt"
	"strings"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// Types whose text is another one than what pgoutput sends.
const (
	typeBool   = 16
	typeInet   = 869
	typeBPChar = 1042
)

// A rowReader makes keys of rows in the log.
type rowReader struct {
	tables    map[uint32]table  // by the ids of the tables and their partitions
	bases     map[uint32]uint32 // of domains, the types below them
	relations map[uint32][]column
}

func (r *rowReader) describe(m relation) error {
	t, ok := r.tables[m.id]
	if !ok {
		return nil
	}
	for _, name := range t.Columns() {
		found := false
		for _, c := range m.columns {
			found = found || c.name == name && c.identity
		}
		if !found {
			return fmt.Errorf("near/postgres: column %s of table %s is not in the replica identity any more", quoteName(name), t.Full())
		}
	}
	r.relations[m.id] = m.columns
	return nil
}

// add adds the keys of a change to those of its transaction.
func (r *rowReader) add(t *transaction, c change) {
	table, ok := r.tables[c.relation]
	columns := r.relations[c.relation]
	if !ok {
		return
	}
	if len(columns) < len(c.old) || len(columns) < len(c.new) {
		t.all = true
		return
	}
	after := make([]value, len(c.new))
	for i, v := range c.new {
		if v.kind == valueUnchanged && c.old != nil && i < len(c.old) {
			v = c.old[i]
		}
		after[i] = v
	}
	for _, row := range [][]value{c.old, after} {
		for _, p := range table.Keys {
			key, is, known := r.key(p, columns, row)
			t.all = t.all || !known
			if is && !(len(t.keys) > 0 && t.keys[len(t.keys)-1] == key) {
				t.keys = append(t.keys, key)
			}
		}
	}
}

// key returns the key of a row. It is none if there is no row, or a column is NULL. It is not known
// if a column was not sent.
func (r *rowReader) key(k rows.Key, columns []column, row []value) (key string, is, known bool) {
	if len(row) == 0 {
		return "", false, true
	}
	var texts []string
	for _, name := range k.Columns {
		for j, v := range row {
			if columns[j].name != name {
				continue
			}
			switch v.kind {
			case valueNull:
				return "", false, true
			case valueUnchanged:
				return "", false, false
			}
			texts = append(texts, r.text(columns[j].kind, v.text))
		}
	}
	return k.With(texts), true, true
}

// text returns what column::text is.
func (r *rowReader) text(kind uint32, sent string) string {
	if base, ok := r.bases[kind]; ok {
		kind = base
	}
	switch {
	case kind == typeBool && sent == "t":
		return "true"
	case kind == typeBool:
		return "false"
	case kind == typeBPChar:
		return strings.TrimRight(sent, " ")
	case kind == typeInet && !strings.Contains(sent, "/"):
		if strings.Contains(sent, ":") {
			return sent + "/128"
		}
		return sent + "/32"
	}
	return sent
}
