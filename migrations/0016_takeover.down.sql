DROP FUNCTION carillon.gone_workers, carillon.take_over, carillon.recover, carillon.count_death, carillon.quarantine_size;

DELETE FROM carillon.schema_migrations WHERE version = 16;
