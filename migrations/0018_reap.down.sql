DROP PROCEDURE carillon.reap_all;
DROP FUNCTION
    carillon.open_breakers, carillon.reapable, carillon.reap, carillon.reap_batch, carillon.catch_up, carillon.reap_watched,
    carillon.watched_match, carillon.dead_tokens, carillon.bad_token_tells;

DELETE FROM carillon.schema_migrations WHERE version = 18;
