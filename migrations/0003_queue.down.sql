DROP TABLE carillon.fleet_tasks, carillon.dedupe, carillon.unknown_outcomes, carillon.cancelled, carillon.broadcasts,
    carillon.unfinished, carillon.inflight, carillon.workers, carillon.scheduled, carillon.messages;
DROP TYPE carillon.job;

DELETE FROM carillon.schema_migrations WHERE version = 3;
