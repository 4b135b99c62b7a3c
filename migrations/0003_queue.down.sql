DROP VIEW carillon.cancelling;
DROP TABLE carillon.app_locks, carillon.update_stamps, carillon.updates, carillon.dedupe,
    carillon.unknown_outcomes, carillon.cancelled, carillon.split_messages, carillon.inflight,
    carillon.workers, carillon.scheduled, carillon.messages;
DROP SEQUENCE carillon.asleep;
DROP TYPE carillon.push_decisions, carillon.remnant, carillon.cancelled_job, carillon.broadcast_zone, carillon.stop, carillon.job;

DELETE FROM carillon.schema_migrations WHERE version = 3;
