DROP FUNCTION carillon.message_status, carillon.open_jobs, carillon.broadcast_progress;
DROP TYPE carillon.message_state;

DELETE FROM carillon.schema_migrations WHERE version = 9;
