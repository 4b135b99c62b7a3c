DROP FUNCTION carillon.maintain, carillon.drop_partition, carillon.make_partition;
DROP TABLE carillon.results, carillon.failures, carillon.failed_messages, carillon.activity, carillon.breakers;

DELETE FROM carillon.schema_migrations WHERE version = 5;
