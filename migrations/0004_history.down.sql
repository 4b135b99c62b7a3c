DROP TABLE carillon.exported_metrics, carillon.sent_pushes, carillon.push_count_sums, carillon.push_counts,
    carillon.failed_messages, carillon.failures, carillon.unfinished, carillon.results;
DROP TYPE carillon.ending;

DELETE FROM carillon.schema_migrations WHERE version = 4;
