// Package rows says which keys of a cache change with the rows of the tables of a database. It is
// for those who write a source of changes: near/postgres and near/mysql share it.
package rows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Table says which keys of a cache change when a row of a table changes.
type Table struct {
	// Name is the name of the table as the catalog of the database has it, so without quotes.
	// Its schema stands before it, with a dot, if it is not the one that the source assumes.
	Name string

	// Keys are texts with names of columns in braces, such as "user:{id}" and
	// "user:email:{email}". A change tells, for each, the text with the values of the old row
	// and with those of the new one. The source says what the text of a value is. Where a
	// column is NULL, there is no key. A text without braces is told with every change.
	Keys []string
}

// A Checked is a Table that was checked.
type Checked struct {
	Schema, Name string
	Keys         []Key
}

// A Key is one of the Keys of a table: texts and columns, by turns, a text first and last.
type Key struct {
	Source  string // as the Table has it
	Texts   []string
	Columns []string
}

// Check returns the tables, of which those without a schema are in the one given. name says what is
// wrong with the name of a schema, table or column. The error says everything that is wrong.
func Check(tables []Table, schema string, name func(string) error) (checked []Checked, err error) {
	if len(tables) == 0 {
		return nil, errors.New(`no tables: want those whose rows are cached: Table{Name: "users", Keys: []string{"user:{id}"}}`)
	}
	var problems []error
	for _, t := range tables {
		one, err := t.check(schema, name)
		if err == nil && slices.ContainsFunc(checked, func(other Checked) bool { return other.Full() == one.Full() }) {
			err = errors.New("it is there twice: want one Table with all Keys")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("table %q: %w", t.Name, err))
		}
		checked = append(checked, one)
	}
	return checked, errors.Join(problems...)
}

func (t Table) check(schema string, name func(string) error) (checked Checked, err error) {
	checked.Schema, checked.Name = schema, t.Name
	if schema, name, ok := strings.Cut(t.Name, "."); ok {
		checked.Schema, checked.Name = schema, name
	}
	for _, n := range []string{checked.Schema, checked.Name} {
		if err := name(n); err != nil {
			return checked, err
		}
	}
	if len(t.Keys) == 0 {
		return checked, errors.New(`no Keys: want those that change with a row: []string{"user:{id}"}`)
	}
	for _, source := range t.Keys {
		k, err := checkKey(source, name)
		if err != nil {
			return checked, fmt.Errorf("key %q: %w", source, err)
		}
		checked.Keys = append(checked.Keys, k)
	}
	return checked, nil
}

func checkKey(source string, name func(string) error) (Key, error) {
	k := Key{Source: source}
	rest := source
	if strings.ContainsRune(source, 0) {
		return k, errors.New("a byte 0, which no text of a database has")
	}
	for {
		text, after, opened := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return k, errors.New(`a "}" without "{": want the names of columns in braces`)
		}
		k.Texts = append(k.Texts, text)
		if !opened {
			break
		}
		column, after, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(column, "{") {
			return k, errors.New(`a "{" without "}": want the names of columns in braces`)
		}
		if err := name(column); err != nil {
			return k, err
		}
		k.Columns = append(k.Columns, column)
		rest = after
	}
	if source == "" {
		return k, errors.New("it is empty")
	}
	return k, nil
}

// Full returns the name with its schema.
func (t Checked) Full() string { return t.Schema + "." + t.Name }

// Columns returns the columns in the keys, each once.
func (t Checked) Columns() (columns []string) {
	for _, k := range t.Keys {
		for _, column := range k.Columns {
			if !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
		}
	}
	return columns
}

// Describe returns the keys, for people.
func (t Checked) Describe() string {
	var keys []string
	for _, k := range t.Keys {
		keys = append(keys, k.Source)
	}
	return strings.Join(keys, ", ")
}

// With returns the key with the texts of its columns, in their order.
func (k Key) With(texts []string) string {
	var b strings.Builder
	b.WriteString(k.Texts[0])
	for i, text := range texts {
		b.WriteString(text)
		b.WriteString(k.Texts[i+1])
	}
	return b.String()
}

// matches reports whether a key may be this one.
func (k Key) matches(key string) bool {
	rest, ok := strings.CutPrefix(key, k.Texts[0])
	if !ok || len(k.Texts) == 1 {
		return ok && rest == ""
	}
	last := len(k.Texts) - 1
	for _, text := range k.Texts[1:last] {
		if _, rest, ok = strings.Cut(rest, text); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, k.Texts[last])
}

// Covers reports whether changes of a key are told: whether it looks like one of the Keys.
func (t Checked) Covers(key string) bool {
	return slices.ContainsFunc(t.Keys, func(k Key) bool { return k.matches(key) })
}

// CoversPrefix reports whether changes of a key with a prefix may be told.
func (t Checked) CoversPrefix(prefix string) bool {
	return slices.ContainsFunc(t.Keys, func(k Key) bool {
		begin := k.Texts[0]
		return strings.HasPrefix(begin, prefix) || len(k.Columns) > 0 && strings.HasPrefix(prefix, begin)
	})
}
