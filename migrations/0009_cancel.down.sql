DROP FUNCTION carillon.cancel_broadcast, carillon.cancel, carillon.record_cancelled;
DROP TYPE carillon.withdrawn;

DELETE FROM carillon.schema_migrations WHERE version = 9;
