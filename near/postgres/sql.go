package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// SQL returns statements that make triggers which tell of changes of tables, and the table of
// changes. Put them into a migration, or run them by one Exec without arguments. They are safe to
// run again, also with other tables or keys; a table whose keys are the same is not locked. The
// user who runs them must own the tables, and may create a schema.
//
// All is in the schema pinwheel: DROP SCHEMA pinwheel CASCADE removes it, with the triggers.
//
// If a Table is wrong, the statements fail with what is wrong.
func SQL(tables ...Table) string {
	parsed, err := parse(tables)
	if err != nil {
		return do(fmt.Sprintf("BEGIN\n\tRAISE EXCEPTION USING MESSAGE = %s;\nEND", quoteText(err.Error())))
	}
	var b strings.Builder
	b.WriteString(schemaSQL())
	for _, t := range parsed {
		b.WriteString("\n" + t.triggerSQL())
	}
	return b.String()
}

// WakeSQL returns a statement that lets each transaction with changes wake the instances whose
// [ChangesOptions.Listen] is set. NOTIFY makes such transactions commit one after the other.
func WakeSQL() string { return wakeSQL }

// schemaSQL returns statements for what all tables share.
func schemaSQL() string {
	return `-- Tells near caches which rows change (github.com/pinwheel-cache/pinwheel/near/postgres).
-- Remove everything by: DROP SCHEMA pinwheel CASCADE
CREATE SCHEMA IF NOT EXISTS pinwheel;
COMMENT ON SCHEMA pinwheel IS 'Tells near caches which rows change. Triggers write to it, and services poll it.';

CREATE TABLE IF NOT EXISTS pinwheel.changes (
	xid  xid8   NOT NULL DEFAULT pg_current_xact_id(),
	keys text[] NOT NULL
);
DO $$ BEGIN
	IF to_regclass('pinwheel.changes_xid') IS NULL THEN -- CREATE INDEX IF NOT EXISTS would wait for all writers
		CREATE INDEX changes_xid ON pinwheel.changes (xid);
	END IF;
END $$;
COMMENT ON TABLE pinwheel.changes IS 'The keys of changed rows, with the transaction that changed them; NULL as a key is for all keys. Do not truncate it: pinwheel.prune removes old rows.';

CREATE TABLE IF NOT EXISTS pinwheel.marks (
	at      timestamptz NOT NULL DEFAULT clock_timestamp(),
	horizon xid8        NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot())
);
COMMENT ON TABLE pinwheel.marks IS 'Transactions below the horizon had ended by then. Changes below the least horizon may have been removed.';
INSERT INTO pinwheel.marks SELECT WHERE NOT EXISTS (SELECT FROM pinwheel.marks);

CREATE UNLOGGED TABLE IF NOT EXISTS pinwheel.boot (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id  uuid    NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE pinwheel.boot IS 'It is empty after a crash, a failover or a restore, as it is unlogged: so services notice one.';

CREATE OR REPLACE FUNCTION pinwheel.start() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO pinwheel.boot DEFAULT VALUES ON CONFLICT DO NOTHING;
$$;
COMMENT ON FUNCTION pinwheel.start() IS 'Names this start of the server.';

CREATE OR REPLACE FUNCTION pinwheel.forget() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO pinwheel.changes (keys) VALUES (ARRAY[NULL]);
$$;
COMMENT ON FUNCTION pinwheel.forget() IS 'Lets all caches forget everything when this transaction commits.';

-- A watcher whose last snapshot is younger than keep has read all that prune removes: transactions
-- below the horizon of a mark had ended when it was made. Rows of transactions that are yet to
-- begin are from another server, by a restore.
CREATE OR REPLACE FUNCTION pinwheel.prune(keep interval) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	least xid8;
BEGIN
	IF keep < interval '10 seconds' THEN
		RAISE EXCEPTION 'pinwheel.prune(%): want at least 10 seconds', keep;
	END IF;
	IF NOT pg_try_advisory_xact_lock(hashtext('pinwheel.prune')) THEN
		RETURN; -- somebody else is at it
	END IF;
	DELETE FROM pinwheel.marks WHERE horizon > pg_snapshot_xmin(pg_current_snapshot()) OR at > clock_timestamp() + keep;
	DELETE FROM pinwheel.changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot());
	IF EXISTS (SELECT FROM pinwheel.marks WHERE at > clock_timestamp() - keep / 10) THEN
		RETURN;
	END IF;
	INSERT INTO pinwheel.marks DEFAULT VALUES;
	SELECT max(horizon) INTO least FROM pinwheel.marks WHERE at <= clock_timestamp() - keep;
	DELETE FROM pinwheel.marks WHERE horizon < least;
	DELETE FROM pinwheel.changes WHERE xid < least;
END
$$;
COMMENT ON FUNCTION pinwheel.prune(interval) IS 'Removes changes that are older than keep.';
`
}

const wakeSQL = `-- Wakes the services that listen when there are changes.
CREATE OR REPLACE FUNCTION pinwheel.wake() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	NOTIFY pinwheel;
	RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS pinwheel_wake ON pinwheel.changes;
CREATE TRIGGER pinwheel_wake AFTER INSERT ON pinwheel.changes FOR EACH STATEMENT EXECUTE FUNCTION pinwheel.wake();
`

// Names of the triggers of a table.
const (
	rowTrigger      = "pinwheel_row"
	truncateTrigger = "pinwheel_truncate"
)

// triggerSQL returns a statement that makes the triggers of a table. It locks the table, so that
// no transaction with the old triggers is open when it ends.
func (t table) triggerSQL() string {
	var columns strings.Builder
	for _, column := range t.Columns() {
		fmt.Fprintf(&columns, ", %s::text", quoteName(column))
	}
	return do(fmt.Sprintf(`DECLARE
	partition text;
BEGIN
	IF NOT (%[1]s) THEN
		LOCK TABLE %[2]s IN SHARE ROW EXCLUSIVE MODE;
		PERFORM 1%[3]s FROM %[2]s LIMIT 0; -- fails if there is no such column
		EXECUTE %[4]s;
		EXECUTE %[5]s;
		DROP TRIGGER IF EXISTS %[7]s ON %[2]s;
		DROP TRIGGER IF EXISTS %[8]s ON %[2]s;
		CREATE TRIGGER %[7]s AFTER INSERT OR UPDATE OR DELETE ON %[2]s FOR EACH ROW EXECUTE FUNCTION %[6]s();
		CREATE TRIGGER %[8]s AFTER TRUNCATE ON %[2]s FOR EACH STATEMENT EXECUTE FUNCTION %[6]s();
		ALTER TABLE %[2]s ENABLE ALWAYS TRIGGER %[7]s;
		ALTER TABLE %[2]s ENABLE ALWAYS TRIGGER %[8]s;
	END IF;
	FOR partition IN SELECT relid::regclass FROM pg_partition_tree(%[9]s) WHERE level > 0
		AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relid AND tgname = '%[8]s') LOOP
		EXECUTE format('CREATE TRIGGER %[8]s AFTER TRUNCATE ON %%s FOR EACH STATEMENT EXECUTE FUNCTION %%s()', partition, %[10]s);
		EXECUTE format('ALTER TABLE %%s ENABLE ALWAYS TRIGGER %[8]s', partition);
	END LOOP;
END`, t.installedSQL(), t.sql(), columns.String(), quoteText(t.functionSQL()), quoteText(t.commentSQL()), t.function(),
		rowTrigger, truncateTrigger, quoteText(t.sql()), quoteText(t.function())))
}

// function returns the name of the trigger function for statements.
func (t table) function() string {
	name := t.Full()
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:16])
	}
	return "pinwheel." + quoteName(name)
}

// textSettings are settings that the text of a column depends on.
const textSettings = `SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET intervalstyle = 'postgres' SET timezone = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1 SET lc_monetary = 'C'`

// functionSQL returns the statement that makes the trigger function. The rights are those of
// the owner, so that writers need none.
func (t table) functionSQL() string {
	var keys []string
	for _, p := range t.Keys {
		keys = append(keys, keySQL(p, "OLD"))
		if len(p.Columns) > 0 {
			keys = append(keys, fmt.Sprintf("nullif(%s, %s)", keySQL(p, "NEW"), keySQL(p, "OLD")))
		}
	}
	return fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER %s AS %s`,
		t.function(), textSettings, quoteText(fmt.Sprintf(`
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		INSERT INTO pinwheel.changes (keys) VALUES (ARRAY[NULL]);
	ELSE
		INSERT INTO pinwheel.changes (keys) VALUES (array_remove(ARRAY[%s], NULL));
	END IF;
	RETURN NULL;
END
`, strings.Join(keys, ", "))))
}

// keySQL returns the key of a row as an expression: NULL if a column is.
func keySQL(k rows.Key, row string) string {
	parts := []string{quoteText(k.Texts[0])}
	for i, column := range k.Columns {
		parts = append(parts, row+"."+quoteName(column)+"::text", quoteText(k.Texts[i+1]))
	}
	return "(" + strings.Join(parts, " || ") + ")"
}

// comment returns what the trigger function has as its comment: a different one for any other
// keys.
func (t table) comment() string {
	sum := sha256.Sum256([]byte(t.functionSQL()))
	return fmt.Sprintf("Tells near caches of changes of %s: %s", t.Full(), hex.EncodeToString(sum[:8]))
}

func (t table) commentSQL() string {
	return fmt.Sprintf("COMMENT ON FUNCTION %s() IS %s", t.function(), quoteText(t.comment()))
}

// installedSQL returns an expression that is true if the triggers are there, enabled, and for
// these keys.
func (t table) installedSQL() string {
	return fmt.Sprintf(`(obj_description(to_regprocedure(%[1]s), 'pg_proc') = %[2]s) IS TRUE AND 2 = (SELECT count(*) FROM pg_trigger
		WHERE tgrelid = to_regclass(%[3]s) AND tgfoid = to_regprocedure(%[1]s) AND tgname IN ('%[4]s', '%[5]s') AND tgenabled = 'A')`,
		quoteText(t.function()+"()"), quoteText(t.comment()), quoteText(t.sql()), rowTrigger, truncateTrigger)
}

// do returns an anonymous block. Its quote is none that the block has.
func do(block string) string {
	tag := "$pinwheel$"
	for strings.Contains(block, tag) {
		tag = tag[:len(tag)-1] + "_$"
	}
	return "DO " + tag + "\n" + block + "\n" + tag + ";\n"
}
