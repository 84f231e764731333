package postgres

import (
	"fmt"
	"strings"
)

// LogSQL returns statements that make the publication which a [Log] with these options reads, and
// give each table a replica identity that has the columns of its Keys: FULL if the present one
// lacks any. Put them into a migration, or run them by one Exec without arguments. They are safe to
// run again, also with other tables. The user who runs them must own the tables, and may create a
// publication. Run them again after a partition was made.
//
// DROP PUBLICATION removes it; the replica identities stay.
//
// If an option is wrong, the statements fail with what is wrong.
func LogSQL(o LogOptions) string {
	tables, err := o.check()
	if err != nil {
		return do(fmt.Sprintf("BEGIN\n\tRAISE EXCEPTION USING MESSAGE = %s;\nEND", quoteText(err.Error())))
	}
	name := quoteName(o.Publication)
	var b strings.Builder
	b.WriteString("-- Tells near caches which rows change (github.com/pinwheel-cache/pinwheel/near/postgres).\n")
	b.WriteString(do(fmt.Sprintf(`BEGIN
	IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = %s) THEN
		CREATE PUBLICATION %s;
	END IF;
END`, quoteText(o.Publication), name)))
	fmt.Fprintf(&b, "COMMENT ON PUBLICATION %s IS 'Tells near caches which rows change.';\n", name)
	for _, t := range tables {
		b.WriteString(do(fmt.Sprintf(`DECLARE
	part regclass;
BEGIN
	FOR part IN SELECT m.oid FROM (%[1]s) m WHERE NOT m.identity @> %[2]s OR m.kind = 'n' LOOP
		EXECUTE format('ALTER TABLE %%s REPLICA IDENTITY FULL', part);
	END LOOP;
	IF NOT EXISTS (SELECT FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid
		WHERE p.pubname = %[3]s AND (p.puballtables OR r.prrelid = to_regclass(%[4]s))) THEN
		ALTER PUBLICATION %[5]s ADD TABLE %[6]s;
	END IF;
END`, strings.ReplaceAll(membersSQL, "$2::text[]", "ARRAY["+quoteText(t.sql())+"]"), t.columnsSQL(), quoteText(o.Publication), quoteText(t.sql()), name, t.sql())))
	}
	return b.String()
}

// columnsSQL returns an array of the columns in the keys.
func (t table) columnsSQL() string {
	var names []string
	for _, column := range t.Columns() {
		names = append(names, quoteText(column))
	}
	return "ARRAY[" + strings.Join(names, ", ") + "]::text[]"
}

// membersSQL returns the tables $2 and their partitions: which of the tables it is, whether its
// rows are in the log by themselves, and the columns that the log has of an old row. It locks none
// of them.
const membersSQL = `WITH RECURSIVE tree AS (
	SELECT n, to_regclass(name)::oid AS oid, '' AS link FROM unnest($2::text[]) WITH ORDINALITY AS named (name, n)
	UNION ALL
	SELECT tree.n, i.inhrelid, i.xmin::text FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid JOIN pg_class p ON p.oid = i.inhrelid AND p.relispartition
)
SELECT tree.n, c.oid, tree.link, c.relkind = 'p' AS parted,
	CASE WHEN c.relkind = 'p' THEN 'p' WHEN c.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary AND indimmediate) THEN 'n' ELSE c.relreplident::text END AS kind,
	ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		AND (c.relkind = 'p' OR c.relreplident = 'f' OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid
			AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
			AND CASE c.relreplident WHEN 'd' THEN i.indisprimary AND i.indimmediate WHEN 'i' THEN i.indisreplident ELSE false END)) ORDER BY a.attnum) AS identity
FROM tree JOIN pg_class c ON c.oid = tree.oid`

// fingerprintSQL returns a text that is another one when the publication $1, or a table $2, is altered in a way that
// may let changes go untold.
const fingerprintSQL = `SELECT md5(concat(
	(SELECT string_agg(m::text, ',' ORDER BY m.oid) FROM (` + membersSQL + `) m),
	(SELECT string_agg(concat_ws(' ', p.oid, p.xmin, r.oid, r.xmin), ',' ORDER BY r.oid) FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid WHERE p.pubname = $1::text)))`
