package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A mutation is a change of a function that a test must notice.
type mutation struct {
	name     string
	folder   string // from the root of the repository
	function string // as Name or Type.Name
	old, new string // a part of one of its lines, which it has once; an empty new removes it
	test     test   // that must notice it
}

// A test says which tests of a package to run.
type test struct {
	pkg    string // its folder, from the root of the repository
	run    string // as the flag -run has it
	checks string // how many inputs a test by rapid draws; empty if it is none
}

var comment = regexp.MustCompile(`(?m)^#.*\n`)

// parse reads a list: entries of five lines each, with empty lines between them.
// A line that begins with # is a comment.
//
//	name
//	folder function
//	- a part of a line of the function
//	+ what it becomes
//	package pattern [checks]
func parse(list string) ([]mutation, error) {
	var all []mutation
	names := map[string]bool{}
	for _, block := range strings.Split(comment.ReplaceAllString(list, ""), "\n\n") {
		block = strings.Trim(block, "\n")
		if block == "" {
			continue
		}
		m, err := parseEntry(block)
		if err != nil {
			return nil, fmt.Errorf("%w, in the entry\n%s", err, block)
		}
		if names[m.name] {
			return nil, fmt.Errorf("two entries with the name %q", m.name)
		}
		names[m.name] = true
		all = append(all, m)
	}
	return all, nil
}

func parseEntry(block string) (m mutation, err error) {
	lines := strings.Split(block, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "-") || !strings.HasPrefix(lines[3], "+") {
		return m, fmt.Errorf("want five lines, the third with -, the fourth with +")
	}
	where, test := strings.Fields(lines[1]), strings.Fields(lines[4])
	if len(where) != 2 {
		return m, fmt.Errorf("want a folder and a function in the second line")
	}
	if len(test) != 2 && len(test) != 3 {
		return m, fmt.Errorf("want a package, a pattern and perhaps a number in the last line")
	}
	m.name, m.folder, m.function = lines[0], where[0], where[1]
	m.old, m.new = strings.TrimSpace(lines[2][1:]), strings.TrimSpace(lines[3][1:])
	m.test.pkg, m.test.run = test[0], test[1]
	if len(test) == 3 {
		m.test.checks = test[2]
	}
	return m, nil
}
