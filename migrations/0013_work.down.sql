DROP FUNCTION carillon.take_over, carillon.split, carillon.settle, carillon.progress, carillon.release, carillon.restore;

DELETE FROM carillon.schema_migrations WHERE version = 13;
