DROP TABLE carillon.webhooks, carillon.untaken_events, carillon.events, carillon.subscriptions, carillon.sent_pushes,
    carillon.push_count_sums, carillon.push_counts, carillon.failed_messages, carillon.failures, carillon.unfinished,
    carillon.results;
DROP SEQUENCE carillon.event_ids;
DROP TYPE carillon.ending, carillon.event, carillon.taken_range;

DELETE FROM carillon.schema_migrations WHERE version = 4;
