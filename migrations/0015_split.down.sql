DROP FUNCTION carillon.discard, carillon.split, carillon.cut, carillon.shortened;

DELETE FROM carillon.schema_migrations WHERE version = 15;
