DROP FUNCTION carillon.open_breakers;

DELETE FROM carillon.schema_migrations WHERE version = 23;
