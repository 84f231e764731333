package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
