DROP FUNCTION carillon.catch_up, carillon.reap_watched, carillon.run_watched, carillon.watched_match,
    carillon.prepare_again, carillon.traces, carillon.prepared, carillon.unsafe_reaper, carillon.as_reaper,
    carillon.path_of, carillon.unwatch_tokens, carillon.watch_tokens;

GRANT CREATE ON SCHEMA carillon TO carillon_reaper;

DELETE FROM carillon.schema_migrations WHERE version = 19;
