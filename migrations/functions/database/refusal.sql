-- Errors for arguments. A check returns a refusal, and the function that the user has called raises it.
--
-- Functions that carillon_app may call raise their refusals themselves, so that an application gets an error with one line of
-- context. All other functions call refuse() or app_id(), which add a second line. carillon_app may call app_id() and the functions
-- of the HTTP API too, but only the program does.

-- refusal() escapes control characters, so that the message stays on one line.
CREATE OR REPLACE FUNCTION carillon.refusal(
    argument text, takes text, got text, hint text DEFAULT NULL, code text DEFAULT '22023'
) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(pg_catalog.format('argument "%s" takes %s, got %s', argument, takes, coalesce((
            SELECT pg_catalog.string_agg(CASE
                WHEN c.letter OPERATOR(pg_catalog.=) E'\n' THEN E'\\n'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\r' THEN E'\\r'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\t' THEN E'\\t'
                WHEN c.letter OPERATOR(pg_catalog.~) '[[:cntrl:]]' THEN E'\\u' OPERATOR(pg_catalog.||)
                    pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
                ELSE c.letter END, '' ORDER BY c.place)
            FROM pg_catalog.string_to_table(CASE WHEN pg_catalog.length(got) OPERATOR(pg_catalog.>) 80
                THEN pg_catalog.left(got, 77) OPERATOR(pg_catalog.||) '…' ELSE got END, NULL)
                WITH ORDINALITY AS c(letter, place)),
            CASE WHEN got IS NULL THEN 'null' ELSE 'an empty string' END)),
        hint, argument, code)::carillon.refusal
$$;
COMMENT ON FUNCTION carillon.refusal IS 'Internal: builds the error for an argument: what it takes, and what it was given.';

CREATE OR REPLACE FUNCTION carillon.refuse(refusal carillon.refusal) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.refuse IS 'Internal: raises a refusal, if there is one.';

CREATE OR REPLACE FUNCTION carillon.list_of_apps(names text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'The apps are: ' OPERATOR(pg_catalog.||) pg_catalog.string_agg(n.name, ', ' ORDER BY n.name)
            FILTER (WHERE n.place OPERATOR(pg_catalog.<=) 10)
        OPERATOR(pg_catalog.||) CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.>) 10 THEN
            pg_catalog.format(' and %s more.', pg_catalog.count(*) OPERATOR(pg_catalog.-) 10) ELSE '.' END
    FROM (SELECT u.name, pg_catalog.row_number() OVER (ORDER BY u.name) AS place FROM pg_catalog.unnest(names) AS u(name)) AS n
$$;
COMMENT ON FUNCTION carillon.list_of_apps IS 'Internal: lists the first ten apps, and says how many more there are; null for none.';

-- While an app is moved here, trying again helps: many drivers and libraries do so after 40001.
CREATE OR REPLACE FUNCTION carillon.unknown_app(app text) RETURNS carillon.refusal
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN m.moved_to OPERATOR(pg_catalog.=) '' THEN ROW(pg_catalog.format('the app %L is still being moved here', app),
            'Try again when carillon app move has ended.', 'app', '40001')::carillon.refusal
        WHEN m.moved_to IS NOT NULL THEN ROW(pg_catalog.format('the app %L has moved to another database: %s', app, m.moved_to),
            'Call Carillon there.', 'app', '55000')::carillon.refusal
        ELSE carillon.refusal('app', 'the name of an app', pg_catalog.quote_literal(app), coalesce(
            (SELECT carillon.list_of_apps(pg_catalog.array_agg(a.name)) FROM carillon.apps a
                WHERE o.mine IS NULL OR a.id OPERATOR(pg_catalog.=) ANY (o.mine)),
            CASE WHEN o.mine IS NULL THEN 'There is no app yet. Add one with: carillon app add'
                ELSE 'The login, or the role that it has set, may use no app: GRANT carillon_app to it, or have the owner of the '
                    'schema call carillon.isolate_app for it.' END),
            '42704') END
    FROM carillon.apps_of_caller() AS o(mine) LEFT JOIN carillon.apps m ON m.name OPERATOR(pg_catalog.=) app
        AND m.moved_to IS NOT NULL AND (o.mine IS NULL OR m.id OPERATOR(pg_catalog.=) ANY (o.mine))
$$;
COMMENT ON FUNCTION carillon.unknown_app IS 'Internal: builds the error for an app that is unknown, or has moved.';

-- app_id() is for callers that refuse no other argument at the same time.
CREATE OR REPLACE FUNCTION carillon.app_id(app text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = app);
BEGIN
    IF id IS NULL THEN
        PERFORM carillon.refuse(carillon.unknown_app(app));
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.app_id IS 'Internal: returns the id of an app, or raises an error.';
