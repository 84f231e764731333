-- What tells caches of changed rows. It may run again: what is there stays, and is brought up to date.
DO $$ BEGIN
	PERFORM pg_advisory_xact_lock(7526472839114301);
	IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pinwheel' AND nspowner <> quote_ident(current_user)::regrole) THEN
		RAISE EXCEPTION 'pinwheel: the schema pinwheel is of %: run this as that role, or drop the schema',
			(SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'pinwheel');
	END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS pinwheel;

-- The keys of each changed row, by transaction. With "whole" they are the beginnings of all keys that have changed.
CREATE TABLE IF NOT EXISTS pinwheel.changes (
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	keys text[] NOT NULL,
	whole boolean NOT NULL DEFAULT false
);

-- Of each of these moments: all transactions below "low" had ended. What is below the lowest was removed.
CREATE TABLE IF NOT EXISTS pinwheel.marks (at timestamptz NOT NULL, low xid8 NOT NULL);

-- A crash, a failover or a backup leaves this table empty: then commits may be lost, and all must be forgotten.
CREATE UNLOGGED TABLE IF NOT EXISTS pinwheel.life (token uuid NOT NULL, system bigint NOT NULL);

-- Not if they are there: these statements lock out writers. With an identity a publication of all tables does no harm.
DO $$ BEGIN
	IF to_regclass('pinwheel.changes_xid') IS NULL THEN
		CREATE INDEX changes_xid ON pinwheel.changes (xid);
		ALTER TABLE pinwheel.changes REPLICA IDENTITY FULL;
		ALTER TABLE pinwheel.marks REPLICA IDENTITY FULL;
	END IF;
END $$;

-- The functions that others call run as the owner, so pg_temp, which anybody may fill, comes last.

-- begin gives the database a new life, if it has none. What another server has left here is removed.
CREATE OR REPLACE FUNCTION pinwheel.begin() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	here bigint := (SELECT system_identifier FROM pg_control_system());
BEGIN
	FOR locked IN 0..1 LOOP -- another instance may have just done it
		IF EXISTS (SELECT FROM pinwheel.life WHERE system = here) AND EXISTS (SELECT FROM pinwheel.marks)
			AND NOT EXISTS (SELECT FROM pinwheel.marks WHERE low > pg_snapshot_xmax(pg_current_snapshot())) THEN
			RETURN;
		END IF;
		PERFORM pg_advisory_xact_lock(7526472839114301);
	END LOOP;
	DELETE FROM pinwheel.life;
	DELETE FROM pinwheel.changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot());
	DELETE FROM pinwheel.marks WHERE low > pg_snapshot_xmax(pg_current_snapshot());
	INSERT INTO pinwheel.life VALUES (gen_random_uuid(), here);
	INSERT INTO pinwheel.marks VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()));
END $$;

-- poll returns what has changed since a snapshot was taken: what transactions have written that were open in it, or
-- have begun since, and have ended. It is one statement, so all that it says is of one snapshot. "amount" is that of
-- rows; if it is over "most" the keys are not all. The life of the database is another one if it was restored here, or
-- in another place. A plan that was made while the table was empty would read all of it; to compile one takes too long.
CREATE OR REPLACE FUNCTION pinwheel.poll(seen pg_snapshot, most bigint, OUT snapshot text, OUT life text, OUT low text,
	OUT lsn text, OUT keys text[], OUT prefixes text[], OUT amount bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
	IF pg_is_in_recovery() THEN
		RETURN;
	END IF;
	WITH news AS MATERIALIZED (
		SELECT c.keys, c.whole FROM pinwheel.changes c
		WHERE c.xid >= pg_snapshot_xmax(seen) AND c.xid < pg_snapshot_xmax(pg_current_snapshot())
		UNION ALL
		SELECT c.keys, c.whole FROM pinwheel.changes c WHERE c.xid = ANY (ARRAY(SELECT pg_snapshot_xip(seen)))
		LIMIT most + 1
	)
	SELECT pg_current_snapshot(),
		(SELECT concat_ws(' ', l.token, l.tableoid, (SELECT oid FROM pg_database WHERE datname = current_database()),
			extract(epoch FROM pg_postmaster_start_time())) FROM pinwheel.life l LIMIT 1),
		(SELECT m.low FROM pinwheel.marks m ORDER BY m.low LIMIT 1), pg_current_wal_insert_lsn(),
		(SELECT array_agg(DISTINCT k) FROM news n, unnest(n.keys) k WHERE NOT n.whole AND k IS NOT NULL),
		(SELECT array_agg(DISTINCT k) FROM news n, unnest(n.keys) k WHERE n.whole), (SELECT count(*) FROM news)
	INTO snapshot, life, low, lsn, keys, prefixes, amount;
END $$;

-- trim removes what is older than "keep", now and then. Nobody waits for it.
CREATE OR REPLACE FUNCTION pinwheel.trim(keep interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	lowest xid8 := (SELECT low FROM pinwheel.marks WHERE at < now() - keep ORDER BY low DESC LIMIT 1);
BEGIN
	IF EXISTS (SELECT FROM pinwheel.marks WHERE at > now() - keep / 10) OR NOT pg_try_advisory_xact_lock(7526472839114301) THEN
		RETURN;
	END IF;
	INSERT INTO pinwheel.marks VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()));
	DELETE FROM pinwheel.marks WHERE low < lowest;
	DELETE FROM pinwheel.changes WHERE xid < lowest;
END $$;

-- called returns the name of a function for a table.
CREATE OR REPLACE FUNCTION pinwheel.called(what text, wanted regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT what || ' of ' || CASE WHEN octet_length(n) < 45 THEN n ELSE md5(n) END
	FROM (SELECT quote_ident(s.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.oid = wanted) t (n)
$$;

-- watch has the changes of a table told. It gets expressions of the keys of OLD and of NEW, their columns, what they begin
-- with, and a note by which instances know which keys these are.
CREATE OR REPLACE FUNCTION pinwheel.watch(name text, olds text, news text, columns text[], prefixes text[], note text)
RETURNS void LANGUAGE plpgsql AS $install$
DECLARE
	wanted regclass := to_regclass(name);
	missing text := (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c WHERE NOT EXISTS (
		SELECT FROM pg_attribute WHERE attrelid = wanted AND attname = c AND attnum > 0 AND NOT attisdropped));
	computed text := (SELECT attname FROM pg_attribute WHERE attrelid = wanted AND attname = ANY (columns) AND attgenerated = 'v' LIMIT 1);
	-- the text of other types depends on settings of the session
	settings text := (SELECT ' SET datestyle = ''ISO, YMD'' SET intervalstyle = ''postgres'' SET timezone = ''UTC'' SET extra_float_digits = 1 SET bytea_output = ''hex'''
		FROM pg_attribute WHERE attrelid = wanted AND attname = ANY (columns)
		AND atttypid <> ALL ('{int2,int4,int8,numeric,text,varchar,bpchar,uuid,bool}'::regtype[]) LIMIT 1);
	rows text := pinwheel.called('rows', wanted);
	whole text := pinwheel.called('whole', wanted);
	part regclass;
BEGIN
	IF wanted IS NULL THEN
		RAISE EXCEPTION 'pinwheel: there is no table %: want names as the catalog has them, with a schema or in the search_path', name;
	ELSIF (SELECT relkind FROM pg_class WHERE oid = wanted) NOT IN ('r', 'p') THEN
		RAISE EXCEPTION 'pinwheel: % is no table: want those whose rows it shows', name;
	ELSIF missing IS NOT NULL THEN
		RAISE EXCEPTION 'pinwheel: the table % has no column %: want some of %', name, missing,
			(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = wanted AND attnum > 0 AND NOT attisdropped);
	ELSIF computed IS NOT NULL THEN
		RAISE EXCEPTION 'pinwheel: the column % of % is virtual, and not there when triggers fire: want it STORED, or those that it is made of', computed, name;
	END IF;
	IF note IS DISTINCT FROM obj_description(to_regprocedure(format('pinwheel.%I()', rows)), 'pg_proc') THEN
		-- Who writes now may have begun with the old function, and would not tell of new keys. Instances forget all.
		EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', wanted);
		UPDATE pinwheel.life SET token = gen_random_uuid();
	END IF;
	EXECUTE format('CREATE OR REPLACE FUNCTION pinwheel.%I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp%s AS %L',
		rows, settings, format('
		DECLARE was text[]; is_now text[];
		BEGIN
			IF TG_OP <> ''INSERT'' THEN was := ARRAY[%s]; END IF;
			IF TG_OP <> ''DELETE'' THEN is_now := ARRAY[%s]; END IF;
			IF was = is_now THEN was := NULL; END IF;
			INSERT INTO pinwheel.changes (keys) VALUES (was || is_now);
			RETURN NULL;
		END', olds, news));
	EXECUTE format('COMMENT ON FUNCTION pinwheel.%I() IS %L', rows, note);
	EXECUTE format('CREATE OR REPLACE FUNCTION pinwheel.%I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %L',
		whole, format('
		BEGIN
			INSERT INTO pinwheel.changes (keys, whole) VALUES (%L, true);
			RETURN NULL;
		END', prefixes));
	PERFORM pinwheel.fire(wanted, 'pinwheel_changed', rows, 'INSERT OR UPDATE OR DELETE', 'ROW');
	FOR part IN SELECT wanted UNION SELECT relid FROM pg_partition_tree(wanted) LOOP
		IF (SELECT relkind FROM pg_class WHERE oid = part) <> 'f' THEN
			PERFORM pinwheel.fire(part, 'pinwheel_truncated', whole, 'TRUNCATE', 'STATEMENT');
		END IF;
	END LOOP;
END $install$;

-- fire makes a trigger that also fires for replicated rows. One that is there is left alone, as a new one locks the table;
-- after a new one instances forget all.
CREATE OR REPLACE FUNCTION pinwheel.fire(of regclass, trigger name, called text, events text, each text)
RETURNS void LANGUAGE plpgsql AS $install$
BEGIN
	IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = of AND tgname = trigger AND tgenabled = 'A'
		AND tgfoid = to_regprocedure(format('pinwheel.%I()', called))) THEN
		RETURN;
	END IF;
	EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s', trigger, of);
	EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION pinwheel.%I()', trigger, events, of, each, called);
	EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', of, trigger);
	UPDATE pinwheel.life SET token = gen_random_uuid();
END $install$;

-- unwatch ends what watch has begun.
CREATE OR REPLACE FUNCTION pinwheel.unwatch(name text) RETURNS void LANGUAGE plpgsql AS $install$
BEGIN
	EXECUTE format('DROP FUNCTION IF EXISTS pinwheel.%I(), pinwheel.%I() CASCADE',
		pinwheel.called('rows', to_regclass(name)), pinwheel.called('whole', to_regclass(name)));
	UPDATE pinwheel.life SET token = gen_random_uuid();
END $install$;

-- wake is for who listens, if there is a trigger that calls it.
CREATE OR REPLACE FUNCTION pinwheel.wake() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pg_notify('pinwheel', '');
	RETURN NULL;
END $$;

DO $$ BEGIN PERFORM pinwheel.begin(); END $$;
