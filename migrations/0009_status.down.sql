DROP FUNCTION carillon.message_status, carillon.find_messages, carillon.has_only_failures, carillon.open_jobs,
    carillon.broadcast_progress;
DROP TYPE carillon.message_state;

DELETE FROM carillon.schema_migrations WHERE version = 9;
