DROP FUNCTION
    carillon.reap, carillon.reap_watched, carillon.unwatch_tokens, carillon.watch_tokens, carillon.register_token;

DELETE FROM carillon.schema_migrations WHERE version = 10;
