DROP TABLE carillon.scheduled, carillon.messages, carillon.inflight, carillon.workers, carillon.unfinished,
    carillon.cancelled, carillon.unknown_outcomes, carillon.broadcasts, carillon.dedupe, carillon.chores;
DROP TYPE carillon.job, carillon.message_key;

DELETE FROM carillon.schema_migrations WHERE version = 3;
