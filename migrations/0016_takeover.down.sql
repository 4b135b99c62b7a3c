DROP FUNCTION carillon.gone_workers, carillon.take_over, carillon.recover, carillon.count_death, carillon.trial_size;

DELETE FROM carillon.schema_migrations WHERE version = 16;
