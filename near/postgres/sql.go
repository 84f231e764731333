package postgres

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed install.sql
var install string

// SQL returns a migration: the table of changes, and the triggers that write it. It is one string, which Exec of pgx
// runs in a transaction of its own, or psql with -1 -v ON_ERROR_STOP=1. It may run again: with other keys, and with
// other tables, while those that it does not name stay. Run it before the programs that use the keys: programs that use
// some of them may go on. It waits for who writes a table, and locks it against others meanwhile, only if its keys are new,
// or its triggers are missing.
//
// Who runs it must own the tables and the schema pinwheel, and be allowed to create that. Others need no right to write the tables than
// before. Programs that watch need
//
//	GRANT USAGE ON SCHEMA pinwheel TO app;
//
// SQL panics if the names or keys of tables are not what [Table] says.
func SQL(tables ...Table) string {
	if err := checkTables(tables); err != nil {
		panic("postgres: SQL: " + err.Error())
	}
	var all strings.Builder
	all.WriteString(install)
	for _, t := range tables {
		keys, _ := t.keys()
		var olds, news, columns, prefixes []string
		for _, k := range keys {
			olds, news = append(olds, k.of("OLD")), append(news, k.of("NEW"))
			columns, prefixes = append(columns, k.columns()...), append(prefixes, k.prefix())
		}
		do := fmt.Sprintf("PERFORM pinwheel.watch(%s, %s, %s, %s, %s, %s);", quote(t.identifier()),
			quote(strings.Join(olds, ", ")), quote(strings.Join(news, ", ")), quoteAll(columns), quoteAll(prefixes), quote(t.note()))
		fmt.Fprintf(&all, "\nDO %s;\n", quote("BEGIN "+do+" END"))
	}
	return all.String()
}

// note is the comment of the function of a table, by which programs see whether it has their keys.
func (t Table) note() string {
	note, _ := json.Marshal(t.Keys)
	return string(note)
}

// isIn reports whether a note has all keys of the table.
func (t Table) isIn(note string) bool {
	var keys []string
	err := json.Unmarshal([]byte(note), &keys)
	return err == nil && !slices.ContainsFunc(t.Keys, func(k string) bool { return !slices.Contains(keys, k) })
}

// NotifySQL returns a migration that comes after that of [SQL], if programs are to listen: each transaction that
// changes a table sends a notification when it commits. Those take turns, so a database that commits thousands of
// changes in a second is better without. And such a transaction can no longer be prepared (PREPARE TRANSACTION).
func NotifySQL() string {
	return `DO $$ BEGIN PERFORM pinwheel.fire('pinwheel.changes', 'pinwheel_wake', 'wake', 'INSERT', 'STATEMENT'); END $$;
`
}

// DropSQL returns a migration that ends what [SQL] has begun with tables, and that of all if there are none.
func DropSQL(tables ...Table) string {
	if len(tables) == 0 {
		return "DROP SCHEMA IF EXISTS pinwheel CASCADE;\n"
	}
	var all strings.Builder
	for _, t := range tables {
		do := fmt.Sprintf("IF to_regprocedure('pinwheel.unwatch(text)') IS NOT NULL THEN PERFORM pinwheel.unwatch(%s); END IF;", quote(t.identifier()))
		fmt.Fprintf(&all, "DO %s;\n", quote("BEGIN "+do+" END"))
	}
	return all.String()
}
