-- What tells caches of changed rows. It may run again: what is there stays, and is brought up to date.
DO $$ BEGIN PERFORM pg_advisory_xact_lock(7526472839114301); END $$;

CREATE SCHEMA IF NOT EXISTS pinwheel;

-- The keys of each changed row, by transaction. With "whole" they are the beginnings of all keys that have changed.
CREATE TABLE IF NOT EXISTS pinwheel.changes (
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	keys text[] NOT NULL,
	whole boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS changes_xid ON pinwheel.changes (xid);

-- Of each of these moments: all transactions below "low" had ended. What is below the lowest was removed.
CREATE TABLE IF NOT EXISTS pinwheel.marks (at timestamptz NOT NULL, low xid8 NOT NULL);

-- A crash, a failover or a backup leaves this table empty: then commits may be lost, and all must be forgotten.
CREATE UNLOGGED TABLE IF NOT EXISTS pinwheel.life (token uuid NOT NULL, system bigint NOT NULL);

-- begin gives the database a new life, if it has none. What another server has left here is removed.
CREATE OR REPLACE FUNCTION pinwheel.begin() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
	here bigint := (SELECT system_identifier FROM pg_control_system());
BEGIN
	PERFORM pg_advisory_xact_lock(7526472839114301);
	IF EXISTS (SELECT FROM pinwheel.life WHERE system = here) AND EXISTS (SELECT FROM pinwheel.marks)
		AND NOT EXISTS (SELECT FROM pinwheel.marks WHERE low > pg_snapshot_xmax(pg_current_snapshot())) THEN
		RETURN;
	END IF;
	DELETE FROM pinwheel.life;
	DELETE FROM pinwheel.changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot());
	DELETE FROM pinwheel.marks WHERE low > pg_snapshot_xmax(pg_current_snapshot());
	INSERT INTO pinwheel.life VALUES (gen_random_uuid(), here);
	INSERT INTO pinwheel.marks VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()));
END $$;

-- poll returns what has changed since a snapshot was taken: what transactions have written that were open in it, or
-- have begun since, and have ended. It is one statement, so all that it says is of one snapshot. "amount" is that of
-- rows; if it is over "most" the keys are not all.
CREATE OR REPLACE FUNCTION pinwheel.poll(seen pg_snapshot, most bigint, OUT snapshot text, OUT life text, OUT low text,
	OUT lsn text, OUT keys text[], OUT prefixes text[], OUT amount bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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
	SELECT pg_current_snapshot(), (SELECT l.token FROM pinwheel.life l LIMIT 1) || ' ' || extract(epoch FROM pg_postmaster_start_time()),
		(SELECT min(m.low) FROM pinwheel.marks m), pg_current_wal_insert_lsn(),
		(SELECT array_agg(DISTINCT k) FROM news n, unnest(n.keys) k WHERE NOT n.whole AND k IS NOT NULL),
		(SELECT array_agg(DISTINCT k) FROM news n, unnest(n.keys) k WHERE n.whole), (SELECT count(*) FROM news)
	INTO snapshot, life, low, lsn, keys, prefixes, amount;
END $$;

-- trim removes what is older than "keep", now and then. Nobody waits for it.
CREATE OR REPLACE FUNCTION pinwheel.trim(keep interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
	lowest xid8 := (SELECT max(low) FROM pinwheel.marks WHERE at < now() - keep);
BEGIN
	IF EXISTS (SELECT FROM pinwheel.marks WHERE at > now() - keep / 10) OR NOT pg_try_advisory_xact_lock(7526472839114301) THEN
		RETURN;
	END IF;
	INSERT INTO pinwheel.marks VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()));
	DELETE FROM pinwheel.marks WHERE low < lowest;
	DELETE FROM pinwheel.changes WHERE xid < lowest;
END $$;

-- watch has the changes of a table told. It gets expressions of the keys of OLD and of NEW, their columns, what they begin
-- with, and a note by which instances know which keys these are.
CREATE OR REPLACE FUNCTION pinwheel.watch(name text, called text, olds text, news text, columns text[], prefixes text[], note text)
RETURNS void LANGUAGE plpgsql AS $install$
DECLARE
	wanted regclass := to_regclass(name);
	missing text := (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c WHERE NOT EXISTS (
		SELECT FROM pg_attribute WHERE attrelid = wanted AND attname = c AND attnum > 0 AND NOT attisdropped));
	-- the text of other types depends on settings of the session
	settings text := (SELECT ' SET datestyle = ''ISO, YMD'' SET intervalstyle = ''postgres'' SET timezone = ''UTC'' SET extra_float_digits = 1 SET bytea_output = ''hex'''
		FROM pg_attribute WHERE attrelid = wanted AND attname = ANY (columns)
		AND atttypid <> ALL ('{int2,int4,int8,numeric,text,varchar,bpchar,uuid,bool}'::regtype[]) LIMIT 1);
	part regclass;
BEGIN
	IF wanted IS NULL THEN
		RAISE EXCEPTION 'pinwheel: there is no table %: want names as the catalog has them, with a schema or in the search_path', name;
	ELSIF (SELECT relkind FROM pg_class WHERE oid = wanted) NOT IN ('r', 'p') THEN
		RAISE EXCEPTION 'pinwheel: % is no table: want those whose rows it shows', name;
	ELSIF missing IS NOT NULL THEN
		RAISE EXCEPTION 'pinwheel: the table % has no column %: want some of %', name, missing,
			(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = wanted AND attnum > 0 AND NOT attisdropped);
	END IF;
	EXECUTE format($f$CREATE OR REPLACE FUNCTION pinwheel.%1$I() RETURNS trigger
		LANGUAGE plpgsql SECURITY DEFINER SET search_path = ''%2$s AS $trigger$
		DECLARE was text[]; is_now text[];
		BEGIN
			IF TG_OP <> 'INSERT' THEN was := ARRAY[%3$s]; END IF;
			IF TG_OP <> 'DELETE' THEN is_now := ARRAY[%4$s]; END IF;
			IF was = is_now THEN was := NULL; END IF;
			INSERT INTO pinwheel.changes (keys) VALUES (was || is_now);
			RETURN NULL;
		END $trigger$$f$, called, settings, olds, news);
	EXECUTE format('COMMENT ON FUNCTION pinwheel.%I() IS %L', called, note);
	EXECUTE format($f$CREATE OR REPLACE FUNCTION pinwheel.%1$I() RETURNS trigger
		LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $trigger$
		BEGIN
			INSERT INTO pinwheel.changes (keys, whole) VALUES (%2$L, true);
			RETURN NULL;
		END $trigger$$f$, called || ' truncated', prefixes);
	PERFORM pinwheel.fire(wanted, 'pinwheel_changed', called, 'INSERT OR UPDATE OR DELETE', 'ROW');
	FOR part IN SELECT wanted UNION SELECT relid FROM pg_partition_tree(wanted) LOOP
		PERFORM pinwheel.fire(part, 'pinwheel_truncated', called || ' truncated', 'TRUNCATE', 'STATEMENT');
	END LOOP;
END $install$;

-- fire makes a trigger that also fires for replicated rows. One that is there is left alone, as a new one locks the table.
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
END $install$;

-- wake is for who listens, if there is a trigger that calls it.
CREATE OR REPLACE FUNCTION pinwheel.wake() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
	PERFORM pg_notify('pinwheel', '');
	RETURN NULL;
END $$;

DO $$ BEGIN PERFORM pinwheel.begin(); END $$;
