REVOKE ALL ON carillon.failed_messages FROM carillon_worker;
DROP FUNCTION carillon.settle_refused, carillon.end_unrecorded, carillon.settle, carillon.last_attempts, carillon.unsettled,
    carillon.keep_failed, carillon.progress, carillon.own_path, carillon.is_transient;

DELETE FROM carillon.schema_migrations WHERE version = 13;
