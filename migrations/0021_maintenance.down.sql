DROP PROCEDURE carillon.maintain;
DROP FUNCTION carillon.default_partition_rows, carillon.maintain_step, carillon.delete_old, carillon.drop_partition;
DROP TABLE carillon.maintenance;

DELETE FROM carillon.schema_migrations WHERE version = 21;
