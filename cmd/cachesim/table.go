package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A table is the layout of lines with columns, which may be quoted as in CSV. Columns are
// numbers from 1, or names in the first line of each file.
type table struct {
	separator byte
	names     [fieldCount]string
	columns   [fieldCount]int // from 1; 0 if there is none
	header    bool
	cells     [][]byte // of the last line
}

func newTable(separator string, names [fieldCount]string) (*table, error) {
	t := &table{names: names}
	switch {
	case separator == "tab" || separator == `\t`:
		t.separator = '\t'
	case separator == "space":
		t.separator = ' '
	case len(separator) == 1 && separator != `"`:
		t.separator = separator[0]
	default:
		return nil, fmt.Errorf("-separator is %q: want one character other than a quote, or tab or space", separator)
	}
	if names[keyField] == "" {
		t.names[keyField] = "1"
	}
	for f, name := range t.names {
		if name == "" {
			continue
		}
		n, err := strconv.Atoi(name)
		switch {
		case err != nil:
			t.header = true
		case n < 1:
			return nil, fmt.Errorf("%s is column %d: want a number from 1, or a name in the first line", fieldFlags[f], n)
		default:
			t.columns[f] = n
		}
	}
	return t, nil
}

func (t *table) find(n int, line []byte) (found fields, isHeader bool, err error) {
	t.cells = splitCells(t.cells[:0], line, t.separator)
	if t.header && n == 1 {
		return found, true, t.readHeader()
	}
	for f, column := range t.columns {
		if column > len(t.cells) {
			return found, false, fmt.Errorf("it has %d columns, and %s is column %d", len(t.cells), fieldFlags[f], column)
		}
		if column > 0 {
			found[f] = t.cells[column-1]
		}
	}
	return found, false, nil
}

// A headerError is a first line that lacks a column: no other line can be read.
type headerError struct{ text string }

func (e *headerError) Error() string { return e.text }

func (t *table) readHeader() error {
	for f, name := range t.names {
		if _, err := strconv.Atoi(name); name == "" || err == nil {
			continue
		}
		t.columns[f] = 0
		for i, cell := range t.cells {
			if strings.TrimSpace(string(cell)) == name {
				t.columns[f] = i + 1
			}
		}
		if t.columns[f] == 0 {
			return &headerError{fmt.Sprintf("%s is %q, and the first line has only the columns %q", fieldFlags[f], name, t.cells)}
		}
	}
	return nil
}

// splitCells appends the cells of a line to cells. A cell that begins with a quote ends at
// the next one; two quotes within stand for one, as in RFC 4180. Several spaces separate
// two cells as one does.
func splitCells(cells [][]byte, line []byte, separator byte) [][]byte {
	for {
		if separator == ' ' {
			line = bytes.TrimLeft(line, " ")
		}
		var cell []byte
		quoted := len(line) > 0 && line[0] == '"'
		if quoted {
			cell, line = unquote(line[1:])
		}
		before, after, more := bytes.Cut(line, []byte{separator})
		if !quoted {
			cell = before
		}
		cells = append(cells, cell)
		if !more {
			return cells
		}
		line = after
	}
}

// unquote returns a cell up to its closing quote, and the rest of the line.
func unquote(text []byte) (cell, rest []byte) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case i+1 < len(text) && text[i+1] == '"':
			cell = append(cell, text[:i+1]...)
			text, i = text[i+2:], -1
		case cell == nil:
			return text[:i], text[i+1:]
		default:
			return append(cell, text[:i]...), text[i+1:]
		}
	}
	return append(cell, text...), nil
}
