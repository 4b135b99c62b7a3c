DROP FUNCTION carillon.take_over, carillon.gone_workers, carillon.recover, carillon.count_death, carillon.trial_size, carillon.fail_jobs, carillon.discard, carillon.split, carillon.cut,
    carillon.shortened;

DELETE FROM carillon.schema_migrations WHERE version = 15;
