DROP TABLE carillon.activity_sums, carillon.activity, carillon.failed_messages, carillon.failures, carillon.results;
DROP TYPE carillon.ending;

DELETE FROM carillon.schema_migrations WHERE version = 4;
