package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

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
