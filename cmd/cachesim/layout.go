package main

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
