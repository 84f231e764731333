package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Table is a table whose changes are told, and the keys of its rows.
type Table struct {
	// Name is as the catalog has it, such as "users", or with its schema, "app.users". It may be partitioned.
	Name string

	// Keys are the keys of a row: text with columns in braces, such as "user:{id}" and "user:email:{email}". The text
	// of a column is that of column::text, with dates in the style ISO and in UTC, in both the row that was and the
	// row that is; a NULL makes no key. A key without a column, such as "users:all", changes with every row. A key
	// must begin with text. {{ and }} are braces.
	Keys []string
}

// A key is an entry of Table.Keys: pieces of text, and of names of columns.
type key []piece

type piece struct {
	text   string
	column bool
}

// parseKey returns the pieces of a key. Text and columns take turns, and it begins with text.
func parseKey(of string) (k key, err error) {
	var text strings.Builder
	rest := of
	for rest != "" {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			i = len(rest)
		}
		text.WriteString(rest[:i])
		rest = rest[i:]
		switch {
		case rest == "":
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text.WriteByte(rest[0])
			rest = rest[2:]
		default:
			column, after, ok := strings.Cut(rest[1:], "}")
			if !ok || rest[0] == '}' || column == "" || strings.Contains(column, "{") {
				return nil, fmt.Errorf("the key %q: want columns in braces, as in \"user:{id}\", and braces of the text twice", of)
			}
			k = append(k, piece{text.String(), false}, piece{column, true})
			text.Reset()
			rest = after
		}
	}
	k = append(k, piece{text.String(), false})
	if k[0].text == "" {
		return nil, fmt.Errorf("the key %q: want text at its beginning, as in \"user:{id}\"", of)
	}
	return k, nil
}

// prefix returns what all keys begin with.
func (k key) prefix() string { return k[0].text }

// writes reports whether a text may be what a trigger has written.
func (k key) writes(text string) bool {
	if len(k) == 1 {
		return text == k[0].text
	}
	return strings.HasPrefix(text, k[0].text)
}

// matches reports whether changes of a key are told. A tilde after the prefix begins a Schema of package near, whose keys
// are others; two begin a question of Revoke.
func (k key) matches(text string) bool {
	rest, _ := strings.CutPrefix(text, k[0].text)
	return k.writes(text) && (!strings.HasPrefix(rest, "~") || strings.HasPrefix(rest, "~~"))
}

// columns returns the names of the columns.
func (k key) columns() (names []string) {
	for _, p := range k {
		if p.column {
			names = append(names, p.text)
		}
	}
	return names
}

// of returns the expression of the key of a row, such as OLD.
func (k key) of(row string) string {
	var terms []string
	for _, p := range k {
		switch {
		case p.column:
			terms = append(terms, row+"."+quoteName(p.text)+"::text")
		case p.text != "":
			terms = append(terms, quote(p.text))
		}
	}
	return strings.Join(terms, " || ")
}

// identifier returns the name of the table, quoted.
func (t Table) identifier() string { return pgx.Identifier(strings.Split(t.Name, ".")).Sanitize() }

// keys returns the keys of a table.
func (t Table) keys() (all []key, err error) {
	if t.Name == "" || len(t.Keys) == 0 || strings.Count(t.Name, ".") > 1 || strings.HasPrefix(t.Name, ".") || strings.HasSuffix(t.Name, ".") {
		err = fmt.Errorf("the table %q with the keys %q: want a name, also with its schema, and at least one key", t.Name, t.Keys)
	}
	for _, text := range t.Keys {
		k, failed := parseKey(text)
		if failed == nil {
			all = append(all, k)
		} else {
			err = errors.Join(err, fmt.Errorf("table %q: %w", t.Name, failed))
		}
	}
	if strings.ContainsRune(t.Name+strings.Join(t.Keys, ""), 0) {
		err = errors.Join(err, fmt.Errorf("table %q: a NUL is in no name", t.Name))
	}
	return all, err
}

// checkTables returns what is wrong with tables.
func checkTables(tables []Table) (err error) {
	if len(tables) == 0 {
		err = errors.New("no table: want those whose changes are told")
	}
	byName := slices.Clone(tables)
	slices.SortFunc(byName, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	for i, t := range byName {
		_, failed := t.keys()
		err = errors.Join(err, failed)
		if i > 0 && t.Name == byName[i-1].Name {
			err = errors.Join(err, fmt.Errorf("the table %q is there twice: want all its keys at one", t.Name))
		}
	}
	return err
}

// quote returns text as a literal.
func quote(text string) string {
	literal := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(literal, `\`, `\\`)
	}
	return literal
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// quoteAll returns texts as a literal of an array.
func quoteAll(texts []string) string {
	literals := make([]string, len(texts))
	for i, text := range texts {
		literals[i] = quote(text)
	}
	return "ARRAY[" + strings.Join(literals, ", ") + "]::text[]"
}
