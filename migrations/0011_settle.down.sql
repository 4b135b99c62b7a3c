DROP FUNCTION carillon.settle, carillon.unique_ids_of, carillon.last_attempts, carillon.unsettled, carillon.keep_failed, carillon.narrowed, carillon.changed,
    carillon.job,
    carillon.payloads_of, carillon.progress, carillon.own_path;

DELETE FROM carillon.schema_migrations WHERE version = 11;
