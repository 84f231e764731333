package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// A Table says which keys of a cache change when a row of a table changes. A name without a schema
// is of public, upper case counts, and a value is what PostgreSQL prints for column::text.
type Table = rows.Table

// A table is a Table that was checked.
type table struct{ rows.Checked }

// parse checks tables. An error says everything that is wrong with them.
func parse(tables []Table) (parsed []table, err error) {
	checked, err := rows.Check(tables, "public", checkName)
	for _, t := range checked {
		parsed = append(parsed, table{t})
	}
	if err != nil {
		err = fmt.Errorf("near/postgres: %w", err)
	}
	return parsed, err
}

// maxName is how many bytes of a name PostgreSQL keeps.
const maxName = 63

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("an empty name")
	case len(name) > maxName:
		return fmt.Errorf("the name %q has %d bytes: PostgreSQL keeps %d", name, len(name), maxName)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("the name %q has a byte 0", name)
	}
	return nil
}

// covers reports whether changes of a key are told.
func covers(tables []table, key string) bool {
	return slices.ContainsFunc(tables, func(t table) bool { return t.Covers(key) })
}

// coversPrefix reports whether changes of a key with a prefix may be told.
func coversPrefix(tables []table, prefix string) bool {
	return slices.ContainsFunc(tables, func(t table) bool { return t.CoversPrefix(prefix) })
}

// sql returns the name for statements.
func (t table) sql() string { return quoteName(t.Schema) + "." + quoteName(t.Name) }

// quoteName returns a name as an identifier of SQL.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText returns a text as a literal of SQL.
func quoteText(text string) string {
	quoted := `'` + strings.ReplaceAll(text, `'`, `''`) + `'`
	if strings.Contains(text, `\`) {
		return `E` + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
