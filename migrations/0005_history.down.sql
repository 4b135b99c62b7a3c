DROP FUNCTION carillon.make_partitions, carillon.make_table, carillon.partitions;
DROP TABLE carillon.results, carillon.failures, carillon.failed_messages, carillon.activity, carillon.breakers;

DELETE FROM carillon.schema_migrations WHERE version = 5;
