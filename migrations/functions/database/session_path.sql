-- Which objects a name without a schema means.
--
-- Functions pin search_path with SET, because an app may own the session that calls them, and could choose what their names mean.
-- But users may add INSERT triggers to results, failures, failed_messages, feedback, messages and scheduled, and these triggers
-- rely on the search_path of their session. So a function that only workers call restores that path just before it inserts into
-- one of these tables, in one of three forms:
--
-- 1. It calls use_session_path(). The path of the session lasts until the function returns. A handler of EXCEPTION has the pinned
--    path.
-- 2. settle() and insert_jobs(), where each call counts, have the statement of use_session_path() in their bodies: that takes half
--    the time. insert_jobs() then sets the pinned path again, because it goes on with names that have no schema.
-- 3. A function that these call pins nothing. Its comment says that it may run after use_session_path().
--
-- On the path of the session, names are not safe: on PostgreSQL 14, an app may create functions in schema public. So there,
-- relations and functions are written with their schema, and operators get operands of exactly their declared types, for which
-- PostgreSQL prefers its own. unnest() of several arrays is always the built-in one.
CREATE OR REPLACE FUNCTION carillon.use_session_path() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', NULL, true);
END
$$;
COMMENT ON FUNCTION carillon.use_session_path IS
    'Internal: restores the search_path of the session until the calling function returns.';
