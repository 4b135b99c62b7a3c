DROP PROCEDURE carillon.reap_all;
DROP FUNCTION carillon.reapable, carillon.reap, carillon.reap_batch, carillon.dead_tokens, carillon.bad_token_is_dead;

DELETE FROM carillon.schema_migrations WHERE version = 20;
