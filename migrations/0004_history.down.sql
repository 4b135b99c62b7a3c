DROP TABLE carillon.activity_sums, carillon.activity, carillon.failed_messages, carillon.failures, carillon.results;
DROP FUNCTION carillon.take_key, carillon.ended_unsent, carillon.make_partitions, carillon.make_table, carillon.partitions;

DELETE FROM carillon.schema_migrations WHERE version = 4;
