DROP TABLE carillon.fleet_tasks, carillon.dedupe, carillon.unknown_outcomes, carillon.cancelled, carillon.broadcasts,
    carillon.unfinished, carillon.inflight, carillon.workers, carillon.scheduled, carillon.messages;
DROP FUNCTION carillon.tokens_per_job, carillon.is_silent, carillon.is_loud, carillon.compact, carillon.check_kinds,
    carillon.kind_of_push, carillon.payload_size, carillon.payload_limit, carillon.rules_of, carillon.push_types;
DROP TYPE carillon.job, carillon.push_rules;

DELETE FROM carillon.schema_migrations WHERE version = 3;
