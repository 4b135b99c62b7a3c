DROP FUNCTION carillon.fail_jobs, carillon.settle_refused, carillon.end_unrecorded, carillon.is_transient;

DELETE FROM carillon.schema_migrations WHERE version = 12;
