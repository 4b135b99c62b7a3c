/// SQL that plants objects under the names of PostgreSQL's own and of ours. Whichever is used says so in a sequence, and fails.
enum PlantedObjects {
    /// In a schema.
    ///
    /// Of each kind: functions, also those that take any type or any number of arguments; operators and aggregates; an implicit
    /// cast from each usual type to one for which there are functions too; types and types of arrays; relations that can be read,
    /// and ours for writing too.
    static func plants(in schema: String) -> String {
        Self.template.replacing("PLACE", with: schema)
    }

    private static let template = """
        SET search_path = pg_catalog;
        CREATE SCHEMA IF NOT EXISTS PLACE; GRANT USAGE ON SCHEMA PLACE TO PUBLIC;
        CREATE SEQUENCE PLACE.stolen; GRANT ALL ON SEQUENCE PLACE.stolen TO PUBLIC;
        CREATE FUNCTION PLACE.trip(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_catalog.nextval('PLACE.stolen');
            RAISE EXCEPTION 'planted: %', what;
        END $$;
        CREATE FUNCTION PLACE.spring() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM PLACE.trip('writing to ' || TG_TABLE_NAME); RETURN NULL;
        END $$;
        CREATE TYPE PLACE.bait AS (a pg_catalog.int4);
        CREATE FUNCTION PLACE.plant(name pg_catalog.text, arguments pg_catalog.text, result pg_catalog.text) RETURNS void
        LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN
            EXECUTE format('CREATE FUNCTION PLACE.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', name, arguments, result,
                format('BEGIN PERFORM PLACE.trip(%L); END', name));
        EXCEPTION WHEN duplicate_function OR feature_not_supported OR invalid_function_definition THEN
            NULL;  -- such as one of two functions whose types are both any type
        END $$;
        DO $$ DECLARE
            one record;
            kinds CONSTANT text[] := '{text,int8,int4,int2,bool,timestamptz,uuid,json,jsonb,tid,bytea}';
            kind text;
        BEGIN
            PERFORM PLACE.plant(name, arguments, result) FROM (SELECT DISTINCT ON (name, arguments) p.proname AS name, a.arguments,
                    CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format('pg_catalog.%I', r.typname) AS result
                FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype CROSS JOIN LATERAL (
                    SELECT coalesce(string_agg(format('pg_catalog.%I', t.typname), ', ' ORDER BY u.place), '') AS arguments,
                        coalesce(bool_and(t.typtype <> 'p'), true) AS is_usable
                    FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place) JOIN pg_type t ON t.oid = u.type) a
                WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND a.is_usable AND r.typtype <> 'p') f;
            FOREACH kind IN ARRAY kinds LOOP
                PERFORM PLACE.plant(p.proname, a.arguments, CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END
                    || CASE WHEN r.typname ~ '^any(compatible)?array$' THEN format('pg_catalog.%I[]', kind)
                        WHEN r.typname ~ '^any' THEN format('pg_catalog.%I', kind) ELSE format('pg_catalog.%I', r.typname) END)
                FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype CROSS JOIN LATERAL (
                    SELECT string_agg(CASE WHEN t.typname ~ '^any(compatible)?array$' THEN format('pg_catalog.%I[]', kind)
                            WHEN t.typtype = 'p' THEN format('pg_catalog.%I', kind) ELSE format('pg_catalog.%I', t.typname) END,
                            ', ' ORDER BY u.place) AS arguments,
                        bool_or(t.typname ~ '^any(element|nonarray|array|compatible.*)$') AS is_meant,
                        bool_and(t.typtype <> 'p' OR t.typname ~ '^any(element|nonarray|array|compatible.*)$') AS is_usable
                    FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place) JOIN pg_type t ON t.oid = u.type) a
                WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND a.is_meant AND a.is_usable
                    AND (r.typtype <> 'p' OR r.typname ~ '^any');
            END LOOP;
            PERFORM PLACE.plant(p.proname, concat_ws(', ', a.fixed, repeat('pg_catalog.text, ', n) || 'pg_catalog.text'),
                format('pg_catalog.%I', r.typname))
            FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype CROSS JOIN generate_series(0, 3) n CROSS JOIN LATERAL (
                SELECT string_agg(format('pg_catalog.%I', t.typname), ', ' ORDER BY u.place) AS fixed
                FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place) JOIN pg_type t ON t.oid = u.type
                WHERE t.typname <> 'any') a
            WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provariadic = '"any"'::regtype;
            PERFORM PLACE.plant(p.proname, 'PLACE.bait', 'pg_catalog.text') FROM (
                SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.pronargs = 1) p;
            FOREACH kind IN ARRAY kinds LOOP
                PERFORM PLACE.plant('as bait', format('pg_catalog.%I', kind), 'PLACE.bait');
                EXECUTE format('CREATE CAST (pg_catalog.%I AS PLACE.bait) '
                    'WITH FUNCTION PLACE."as bait"(pg_catalog.%1$I) AS IMPLICIT', kind);
            END LOOP;
            FOR one IN SELECT o.oprname AS name, format_type(a.l, NULL) AS one, format_type(a.r, NULL) AS other,
                    f.proname AS function
                FROM pg_operator o JOIN pg_proc f ON f.oid = o.oprcode CROSS JOIN unnest(kinds) AS k(kind) CROSS JOIN LATERAL (
                    SELECT CASE WHEN o.oprleft IN ('anyarray'::regtype, 'anycompatiblearray'::regtype)
                            THEN format('pg_catalog.%I[]', k.kind)::regtype ELSE o.oprleft END AS l,
                        CASE WHEN o.oprright IN ('anyarray'::regtype, 'anycompatiblearray'::regtype)
                            THEN format('pg_catalog.%I[]', k.kind)::regtype
                        WHEN o.oprright IN ('anyelement'::regtype, 'anycompatible'::regtype)
                            THEN format('pg_catalog.%I', k.kind)::regtype ELSE o.oprright END AS r) a
                WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0
                    AND to_regprocedure(format('PLACE.%I(%s, %s)', f.proname, a.l::regtype, a.r::regtype)) IS NOT NULL
                GROUP BY 1, 2, 3, 4
            LOOP
                EXECUTE format('CREATE OPERATOR PLACE.%s (FUNCTION = PLACE.%I, LEFTARG = %s, RIGHTARG = %s)',
                    one.name, one.function, one.one, one.other);
            END LOOP;
            FOR one IN SELECT DISTINCT p.proname AS name, a.arguments, a.result
                FROM pg_proc p JOIN pg_aggregate g ON g.aggfnoid = p.oid JOIN pg_type r ON r.oid = p.prorettype
                CROSS JOIN unnest(kinds) AS k(kind) CROSS JOIN LATERAL (
                    SELECT string_agg(CASE WHEN t.typname ~ '^any(compatible)?array$' THEN format('pg_catalog.%I[]', k.kind)
                            WHEN t.typtype = 'p' THEN format('pg_catalog.%I', k.kind)
                            ELSE format('pg_catalog.%I', t.typname) END, ', ' ORDER BY u.place) AS arguments,
                        CASE WHEN r.typname ~ '^any(compatible)?array$' THEN format('pg_catalog.%I[]', k.kind)
                            WHEN r.typtype = 'p' THEN format('pg_catalog.%I', k.kind) ELSE format('pg_catalog.%I', r.typname) END
                            AS result
                    FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place) JOIN pg_type t ON t.oid = u.type) a
                WHERE p.pronamespace = 'pg_catalog'::regnamespace AND g.aggkind = 'n' AND p.pronargs > 0
            LOOP
                PERFORM PLACE.plant('fold ' || one.result, one.result || ', ' || one.arguments, one.result);
                EXECUTE format('CREATE AGGREGATE PLACE.%I(%s) (SFUNC = PLACE.%I, STYPE = %s)', one.name, one.arguments,
                    'fold ' || one.result, one.result);
            END LOOP;
            FOR one IN SELECT t.typname AS name FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b'
                ORDER BY t.typcategory = 'A', t.oid
            LOOP
                EXECUTE format('CREATE DOMAIN PLACE.%I AS pg_catalog.%1$I CHECK (PLACE.trip(%1$L))', one.name);
            END LOOP;
            CREATE DOMAIN PLACE.record AS pg_catalog.text CHECK (PLACE.trip('record'));
            FOR one IN SELECT c.relname AS name, c.relnamespace = 'carillon'::regnamespace AS is_ours FROM pg_class c
                WHERE c.relkind IN ('r', 'v', 'p') AND c.relnamespace IN ('pg_catalog'::regnamespace, 'carillon'::regnamespace)
            LOOP
                EXECUTE format('CREATE VIEW PLACE.%I AS SELECT PLACE.trip(%1$L)', one.name);
                IF one.is_ours THEN
                    EXECUTE format('CREATE TRIGGER spring INSTEAD OF INSERT OR UPDATE OR DELETE ON PLACE.%I '
                        'FOR EACH ROW EXECUTE FUNCTION PLACE.spring()', one.name);
                END IF;
            END LOOP;
        END $$;
        """

    /// What a session's temporary schema needs for a `Residue`.
    static let alarm = """
        CREATE SEQUENCE public.stolen; GRANT ALL ON SEQUENCE public.stolen TO PUBLIC;
        CREATE FUNCTION public.trip(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_catalog.nextval('public.stolen');
            RAISE EXCEPTION 'planted: %', what;
        END $$
        """

    /// In the temporary schema of a session that others use next. Functions and operators are never looked up there. A name
    /// has one type, so domains and casts are left in sessions of their own.
    enum Residue: String, CaseIterable, Sendable {
        /// Domains over PostgreSQL's types, and views with the names of our relations.
        case domains
        /// Types to which an implicit cast leads from each usual type. A cast to a domain is never used.
        case casts

        var sql: String {
            switch self {
            case .domains: PlantedObjects.domains
            case .casts: PlantedObjects.casts
            }
        }
    }

    private static let domains = """
        DO $$ DECLARE
            types CONSTANT pg_catalog.text[] := ARRAY(SELECT t.typname FROM pg_catalog.pg_type t
                WHERE t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace AND t.typtype = 'b'
                ORDER BY t.typcategory = 'A', t.oid);
            relations CONSTANT pg_catalog.text[] := ARRAY(SELECT c.relname FROM pg_catalog.pg_class c
                WHERE c.relnamespace = 'carillon'::pg_catalog.regnamespace AND c.relkind IN ('r', 'v', 'p'));
            name pg_catalog.text;
        BEGIN
            FOREACH name IN ARRAY relations LOOP
                EXECUTE pg_catalog.format('CREATE TEMPORARY VIEW %I AS SELECT public.trip(%1$L)', name);
            END LOOP;
            FOREACH name IN ARRAY types LOOP
                EXECUTE pg_catalog.format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%1$I CHECK (public.trip(%1$L))', name);
            END LOOP;
            CREATE DOMAIN pg_temp.record AS pg_catalog.text CHECK (public.trip('record'));
        END $$
        """

    private static let casts = """
        DO $$ DECLARE
            types CONSTANT pg_catalog.text[] := ARRAY(SELECT t.typname FROM pg_catalog.pg_type t
                WHERE t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace AND t.typtype = 'b' AND t.typcategory <> 'A');
            kinds CONSTANT pg_catalog.text[] := '{text,int8,int4,int2,bool,timestamptz,uuid,json,jsonb,tid,bytea}';
            name pg_catalog.text;
            kind pg_catalog.text;
        BEGIN
            FOREACH name IN ARRAY types LOOP
                EXECUTE pg_catalog.format('CREATE TYPE pg_temp.%I AS (a pg_catalog.int4)', name);
                FOREACH kind IN ARRAY kinds LOOP
                    EXECUTE pg_catalog.format(
                        'CREATE FUNCTION pg_temp.%I(pg_catalog.%I) RETURNS pg_temp.%1$I LANGUAGE plpgsql AS %3$L',
                        name, kind, pg_catalog.format('BEGIN PERFORM public.trip(%L); END', name));
                    EXECUTE pg_catalog.format('CREATE CAST (pg_catalog.%2$I AS pg_temp.%1$I) '
                        'WITH FUNCTION pg_temp.%1$I(pg_catalog.%2$I) AS IMPLICIT', name, kind);
                END LOOP;
            END LOOP;
        END $$
        """
}
