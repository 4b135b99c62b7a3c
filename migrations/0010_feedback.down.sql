DROP FUNCTION
    carillon.prepare_again, carillon.traces, carillon.prepared, carillon.unsafe_reaper, carillon.as_reaper, carillon.path_of,
    carillon.unwatch_tokens, carillon.watch_tokens, carillon.check_watched, carillon.unfit_to_watch,
    carillon.register_token;

GRANT CREATE ON SCHEMA carillon TO carillon_reaper;

DELETE FROM carillon.schema_migrations WHERE version = 10;
