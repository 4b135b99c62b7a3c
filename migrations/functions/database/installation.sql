-- Where an installation lives. A copy of a database, such as a restored backup, has the jobs of the original too, and must not send
-- them again. So workers, feedback passes and enqueueing over HTTP first check that this database is the one that the installation
-- has recorded, and so does each claim; `carillon adopt` records the present one.
--
-- A standby has the system identifier of its primary, so it can send after its promotion. A clone of a disk has it too: it can be
-- told from the original only by a name, which the owner of the schema gives to the installation, and the sessions of its programs
-- must have in the setting carillon.installation.

CREATE OR REPLACE FUNCTION carillon.this_database(OUT system_identifier bigint, OUT database_oid bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    SELECT d.oid INTO database_oid FROM pg_database d WHERE d.datname = current_database();
    BEGIN
        SELECT s.system_identifier INTO system_identifier FROM pg_control_system() AS s;
    EXCEPTION WHEN insufficient_privilege THEN
        system_identifier := 0;  -- some servers do not reveal it; the OID of the database remains
    END;
END
$$;
COMMENT ON FUNCTION carillon.this_database IS 'Internal: returns the cluster and the database of this session.';

-- Each claim compares this with the row of installation: behind a pooler, each statement may reach another database. It is
-- immutable, so that the planner computes it once for a prepared claim, which then pays only for reading that row. That is true for
-- as long as a plan lives: a plan belongs to a session, and a session never changes its database. So no index may use it.
CREATE OR REPLACE FUNCTION carillon.here() RETURNS text
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT d.system_identifier || '/' || d.database_oid FROM carillon.this_database() AS d
$$;
COMMENT ON FUNCTION carillon.here IS 'Internal: returns the cluster and the database of this session as one text.';

CREATE OR REPLACE FUNCTION carillon.installation_fault() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    here CONSTANT record := carillon.this_database();
    home carillon.installation;
    name CONSTANT text := nullif(current_setting('carillon.installation', true), '');
BEGIN
    SELECT i.* INTO home FROM carillon.installation i;
    RETURN CASE
        WHEN (home.system_identifier, home.database_oid) <> (here.system_identifier, here.database_oid) THEN format(
            'this database is a copy: its pushes belong to the database %s of cluster %s, and this is database %s of cluster %s',
            home.database_oid, home.system_identifier, here.database_oid, here.system_identifier)
        WHEN home.name IS DISTINCT FROM name THEN format(
            'this installation is %s, and carillon.installation is %s in the options of this connection',
            coalesce('named ' || quote_literal(home.name), 'not named'), coalesce(quote_literal(name), 'not set'))
    END;
END
$$;
COMMENT ON FUNCTION carillon.installation_fault IS
    'Internal: returns why nothing may be sent from this database, such as being a copy; null if pushes may be sent.';

-- A worker asks with each heartbeat. If the log that is safe on disk has become shorter, the database went back to an older state,
-- as after restoring a backup.
CREATE OR REPLACE FUNCTION carillon.installation_state(OUT fault text, OUT cluster bigint, OUT timeline integer, OUT flushed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    fault := carillon.installation_fault();
    cluster := (carillon.this_database()).system_identifier;
    BEGIN
        flushed := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
        timeline := ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::integer;
    EXCEPTION WHEN OTHERS THEN
        timeline := NULL;  -- some managed servers do not say
    END;
END
$$;
COMMENT ON FUNCTION carillon.installation_state IS
    'Internal: says why nothing may be sent from this database, and how long the write-ahead log of its cluster is.';

CREATE OR REPLACE FUNCTION carillon.check_installation() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    fault CONSTANT text := carillon.installation_fault();
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = fault, HINT = 'To send pushes from here, run: carillon adopt';
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.check_installation IS 'Internal: fails if nothing may be sent from this database.';

-- The original's workers do not serve this copy, so all claims are taken over. Jobs created before `expire_before` expire: the next
-- worker ends them without sending them. So do those that dead workers hold, as in an older state of the same database. The server
-- of a copy may lack the compression of the original, or have a better one.
CREATE OR REPLACE FUNCTION carillon.adopt(installation text DEFAULT NULL, expire_before timestamptz DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    here CONSTANT record := carillon.this_database();
    home carillon.installation;
    is_copy boolean;
    expired bigint := 0;
    changed bigint;
BEGIN
    SELECT i.* INTO STRICT home FROM carillon.installation i FOR UPDATE;
    is_copy := (home.system_identifier, home.database_oid) <> (here.system_identifier, here.database_oid);
    IF is_copy OR expire_before IS NOT NULL THEN
        -- The condition is on the row itself, so that PostgreSQL checks it again after waiting for a heartbeat.
        DELETE FROM carillon.workers w WHERE is_copy OR w.lease_until < now();
        PERFORM carillon.take_over(0);
    END IF;
    -- The epoch stands for no limit. A row may have been created at infinity.
    UPDATE carillon.messages m SET expires_at = now()
    WHERE (m.created_at < expire_before OR expire_before = 'infinity')
        AND (m.expires_at > now() OR m.expires_at = 'epoch' OR m.expires_at IS NULL);
    GET DIAGNOSTICS expired = ROW_COUNT;
    UPDATE carillon.scheduled s SET expires_at = now()
    WHERE (s.created_at < expire_before OR expire_before = 'infinity')
        AND (s.expires_at > now() OR s.expires_at = 'epoch' OR s.expires_at IS NULL);
    GET DIAGNOSTICS changed = ROW_COUNT;
    expired := expired + changed;
    UPDATE carillon.installation i SET system_identifier = here.system_identifier, database_oid = here.database_oid,
        name = nullif(coalesce(adopt.installation, home.name), '');
    PERFORM carillon.record_change('adopt', NULL, jsonb_build_object('database', here.database_oid,
        'cluster', here.system_identifier::text, 'name', nullif(coalesce(installation, home.name), ''), 'expired_jobs', expired));
    PERFORM carillon.choose_compression();
    RETURN expired;
END
$$;
COMMENT ON FUNCTION carillon.adopt IS
    'Lets workers send from this copy of a database. Returns how many jobs expire because they are older than expire_before.';
