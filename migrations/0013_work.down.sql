REVOKE ALL ON carillon.failed_messages FROM carillon_worker;
DROP FUNCTION carillon.settle_refused, carillon.settle, carillon.unsettled, carillon.keep_failed, carillon.progress;

DELETE FROM carillon.schema_migrations WHERE version = 13;
