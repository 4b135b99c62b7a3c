DROP FUNCTION carillon.as_reaper;
DROP TYPE carillon.reap_batch, carillon.reap_position;
DROP TABLE carillon.watched_tables, carillon.reap_lock, carillon.feedback, carillon.tokens;
GRANT CREATE ON SCHEMA carillon TO carillon_reaper;

DELETE FROM carillon.schema_migrations WHERE version = 6;
