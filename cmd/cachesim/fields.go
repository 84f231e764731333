package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A field is one property of an access in a line.
type field int

const (
	keyField field = iota
	timeField
	sizeField
	ttlField
	fieldCount
)

var fieldFlags = [fieldCount]string{"-key", "-time", "-size", "-ttl"}

// fields are the texts of the fields of a line; nil where the line lacks one.
type fields [fieldCount][]byte

// A layout finds the fields in lines.
type layout interface {
	// find returns the fields of line n, from 1 in each file, or an error that says
	// what is wrong with the line. isHeader reports that the line is a header.
	find(n int, line []byte) (found fields, isHeader bool, err error)
}

// wholeLines is the layout of lines that consist of a key.
type wholeLines struct{}

func (wholeLines) find(_ int, line []byte) (found fields, isHeader bool, err error) {
	found[keyField] = line
	return found, false, nil
}

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
		if len(line) > 0 && line[0] == '"' {
			cell, rest := unquote(line[1:])
			cells = append(cells, cell)
			line = rest
		} else {
			end := bytes.IndexByte(line, separator)
			if end < 0 {
				return append(cells, line)
			}
			cells = append(cells, line[:end])
			line = line[end+1:]
			continue
		}
		end := bytes.IndexByte(line, separator)
		if end < 0 {
			return cells
		}
		line = line[end+1:]
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

// objects is the layout of lines that are JSON objects. Its fields are paths of names
// separated by points.
type objects struct{ paths [fieldCount][]string }

func newObjects(names [fieldCount]string) (*objects, error) {
	if names[keyField] == "" {
		return nil, fmt.Errorf(`-format is json without -key: want the path of a field, as in -key request.uri`)
	}
	o := new(objects)
	for f, name := range names {
		if name != "" {
			o.paths[f] = strings.Split(name, ".")
		}
	}
	return o, nil
}

func (o *objects) find(_ int, line []byte) (found fields, isHeader bool, err error) {
	for f, path := range o.paths {
		if path == nil {
			continue
		}
		if found[f], err = descend(line, path); err != nil {
			return found, false, fmt.Errorf("%s: %w", fieldFlags[f], err)
		}
	}
	return found, false, nil
}

// descend returns the value at a path, without its quotes if it is a string.
func descend(value []byte, path []string) ([]byte, error) {
	for _, name := range path {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(value, &object); err != nil {
			return nil, fmt.Errorf("want a JSON object with a field %q: %w", name, err)
		}
		inner, ok := object[name]
		if !ok {
			return nil, fmt.Errorf("there is no field %q", name)
		}
		value = inner
	}
	if len(value) > 0 && value[0] == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return []byte(text), err
	}
	return value, nil
}

// An expression is the layout of lines that match a regular expression. Its fields are
// groups by number or name.
type expression struct {
	re     *regexp.Regexp
	groups [fieldCount]int // 0 if there is none
}

func newExpression(text string, names [fieldCount]string) (*expression, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("-regexp: %w", err)
	}
	if re.NumSubexp() == 0 {
		return nil, fmt.Errorf(`-regexp %q has no group: want the key in parentheses, as in 'GET (\S+)'`, text)
	}
	e := &expression{re: re}
	for f, name := range names {
		group := name
		if group == "" {
			group = strings.TrimPrefix(fieldFlags[f], "-")
		}
		e.groups[f] = max(re.SubexpIndex(group), 0)
		if n, err := strconv.Atoi(name); err == nil && 1 <= n && n <= re.NumSubexp() {
			e.groups[f] = n
		}
		if name != "" && e.groups[f] == 0 {
			return nil, fmt.Errorf("%s is %q: want the name of a group of -regexp, or a number from 1 to %d", fieldFlags[f], name, re.NumSubexp())
		}
	}
	if e.groups[keyField] == 0 {
		e.groups[keyField] = 1
	}
	return e, nil
}

func (e *expression) find(_ int, line []byte) (found fields, isHeader bool, err error) {
	match := e.re.FindSubmatchIndex(line)
	if match == nil {
		return found, false, fmt.Errorf("it does not match -regexp")
	}
	for f, group := range e.groups {
		if from := match[2*group]; group > 0 && from >= 0 {
			found[f] = line[from:match[2*group+1]]
		}
	}
	return found, false, nil
}

// A reading turns the fields of lines into accesses.
type reading struct {
	layout     layout
	expire     time.Duration // for an access without a TTL
	timeLayout string        // of the last time
	origin     time.Time     // the first time
	latest     time.Duration // the latest time, since origin
}

func (r *reading) access(n int, line []byte) (a access, isHeader bool, err error) {
	found, isHeader, err := r.layout.find(n, line)
	if err != nil || isHeader {
		return a, isHeader, err
	}
	if len(found[keyField]) == 0 {
		return a, false, fmt.Errorf("the key is empty")
	}
	a = access{key: hashOf(found[keyField]), ttl: r.expire}
	if text := found[timeField]; text != nil {
		at, err := r.parseTime(string(text))
		if err != nil {
			return a, false, err
		}
		if r.origin.IsZero() {
			r.origin = at
		}
		r.latest = max(r.latest, at.Sub(r.origin)) // logs of several processes go back a little
	}
	a.at = r.latest
	if text := found[sizeField]; text != nil && string(text) != "-" {
		size, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !(size >= 0) {
			return a, false, fmt.Errorf("the size is %q: want a number of bytes", text)
		}
		a.size = uint32(min(size, math.MaxUint32))
	}
	if text := found[ttlField]; len(text) > 0 && string(text) != "-" {
		if a.ttl, err = parseTTL(string(text)); err != nil {
			return a, false, err
		}
	}
	return a, false, nil
}

func parseTTL(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < math.MaxInt64/1e9 {
		return time.Duration(seconds * 1e9), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf(`the TTL is %q: want seconds, or a duration as in "10m"`, text)
	}
	return d, nil
}

// timeLayouts are the layouts of times in logs that are no numbers.
var timeLayouts = []string{
	time.RFC3339Nano,
	"02/Jan/2006:15:04:05 -0700", // nginx and Apache
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02T15:04:05.999999999",
	"2006/01/02 15:04:05",
	time.RFC1123Z,
	time.StampMicro,
}

func (r *reading) parseTime(text string) (time.Time, error) {
	text = strings.Trim(text, "[] ")
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && math.Abs(n) < 1e19 {
		return unixTime(n), nil
	}
	if t, err := time.Parse(r.timeLayout, text); err == nil && r.timeLayout != "" {
		return t, nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			r.timeLayout = layout
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("the time is %q: want Unix seconds, or as in %s or %s", text, timeLayouts[0], timeLayouts[1])
}

// unixTime reads a number as seconds, milli-, micro- or nanoseconds since 1970: the unit
// whose time is not thousands of years away.
func unixTime(n float64) time.Time {
	for _, unit := range []float64{1, 1e3, 1e6} {
		if math.Abs(n) < 1e11*unit {
			return time.Unix(0, int64(n*(1e9/unit)))
		}
	}
	return time.Unix(0, int64(n))
}

// hashOf hashes a key by FNV-1a and mixes the result as MurmurHash3 does, since the upper
// bits choose the sample. It has no seed, so the same input gives the same sample.
func hashOf(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// excerpt returns a line, or its beginning, for a message.
func excerpt(line []byte) string {
	const most = 60
	if len(line) <= most {
		return strconv.Quote(string(line))
	}
	line = line[:most]
	for !utf8.Valid(line) && len(line) > most-utf8.UTFMax {
		line = line[:len(line)-1]
	}
	return strconv.Quote(string(line)) + "…"
}
