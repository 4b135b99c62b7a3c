DROP PROCEDURE carillon.maintain;
DROP TABLE carillon.maintenance;
DROP FUNCTION carillon.default_partition_rows, carillon.maintain_step, carillon.sum_activity, carillon.delete_old, carillon.drop_partition;

DELETE FROM carillon.schema_migrations WHERE version = 21;
