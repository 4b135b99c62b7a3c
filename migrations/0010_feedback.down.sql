DROP FUNCTION
    carillon.unwatch_tokens, carillon.watch_tokens, carillon.check_watched, carillon.register_token;

DELETE FROM carillon.schema_migrations WHERE version = 10;
