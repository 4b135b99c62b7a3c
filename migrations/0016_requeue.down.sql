DROP FUNCTION carillon.requeue_failures, carillon.is_mendable;

DELETE FROM carillon.schema_migrations WHERE version = 16;
