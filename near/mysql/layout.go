package mysql

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// A tableName is that of a table with its schema, as the log has it.
type tableName struct{ schema, table string }

// A layout says what the rows of a table in the log mean.
type layout struct {
	keys    []rows.Key // none if only others follow the table
	columns map[string]column
	count   int // of all columns, but for hidden ones after them

	// followed are columns by which the server finds rows of our tables that it changes too, as ON
	// DELETE CASCADE says. Those changes are not in the log.
	followed []int
}

// A column is one of a key.
type column struct {
	at       int
	unsigned int // how many bits a number without sign has, or 0
}

// text returns what a value of the log is in a key.
func (c column) text(v any) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case int8, int16, int32, int64: // the log does not say whether they have a sign
		n := reflect.ValueOf(v).Int()
		if c.unsigned > 0 {
			return strconv.FormatUint(uint64(n)&(^uint64(0)>>(64-c.unsigned)), 10)
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v)
}

// An image is a row in the log, before a change or after it.
type image struct {
	values  []any
	skipped []int // columns that are not in the log
}

func (i image) has(at int) bool { return i.values != nil && !slices.Contains(i.skipped, at) }

// noTable is the number of no table, in an event without rows that ends a statement.
const noTable = 1<<24 - 1

// decode decodes the rows of tables that matter.
func (r *reader) decode(e *replication.RowsEvent, data []byte) error {
	at, err := e.DecodeHeader(data)
	switch {
	case e.TableID == noTable:
		return nil
	case err != nil || r.layout(e) == nil:
		return err
	}
	return e.DecodeData(at, data)
}

func (r *reader) layout(e *replication.RowsEvent) *layout {
	if e.Table == nil {
		return nil
	}
	return r.layouts[tableName{string(e.Table.Schema), string(e.Table.Table)}]
}

// rows adds the keys of changed rows to those of the group.
func (r *reader) rows(e *replication.RowsEvent) error {
	l := r.layout(e)
	if l == nil {
		return nil
	}
	if int(e.ColumnCount) < l.count {
		return fmt.Errorf("near/mysql: table %s has %d columns in the binary log, and had %d", e.Table.Table, e.ColumnCount, l.count)
	}
	step := 1
	if len(e.ColumnBitmap2) > 0 {
		step = 2 // before and after
	}
	for i := 0; i+step <= len(e.Rows); i += step {
		before := image{e.Rows[i], e.SkippedColumns[i]}
		var after image
		switch {
		case step == 2:
			after = image{e.Rows[i+1], e.SkippedColumns[i+1]}
		case e.Type() != replication.EnumRowsEventTypeDelete:
			before, after = after, before
		}
		l.add(&r.open, before, after)
	}
	return nil
}

// add adds the keys of a row before and after a change. A column that is not in the log after it was
// not changed.
func (l *layout) add(c *change, before, after image) {
	for _, k := range l.keys {
		old := l.key(c, k, before, image{})
		if old != "" {
			c.keys = append(c.keys, old)
		}
		if key := l.key(c, k, after, before); key != "" && key != old {
			c.keys = append(c.keys, key)
		}
	}
	if before.values == nil { // nothing follows a new row
		return
	}
	for _, at := range l.followed {
		unchanged := before.has(at) && after.has(at) && reflect.DeepEqual(before.values[at], after.values[at]) ||
			after.values != nil && !after.has(at)
		c.all = c.all || !unchanged
	}
}

// key returns the key of a row, or none if there is no row or a column is NULL. If a column is
// nowhere in the log, any key may have changed.
func (l *layout) key(c *change, k rows.Key, of, otherwise image) string {
	if of.values == nil {
		return ""
	}
	var texts []string
	for _, name := range k.Columns {
		column := l.columns[name]
		row := of
		if !row.has(column.at) {
			row = otherwise
		}
		switch {
		case !row.has(column.at):
			c.all = true
			return ""
		case row.values[column.at] == nil:
			return ""
		}
		texts = append(texts, column.text(row.values[column.at]))
	}
	return k.With(texts)
}
