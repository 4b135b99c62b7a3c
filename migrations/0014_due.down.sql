DROP FUNCTION carillon.promote, carillon.move_due, carillon.put_off;

DELETE FROM carillon.schema_migrations WHERE version = 14;
