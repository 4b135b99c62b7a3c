DROP FUNCTION carillon.requeue_failures;

DELETE FROM carillon.schema_migrations WHERE version = 16;
