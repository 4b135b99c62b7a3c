DROP FUNCTION carillon.take_turn;
DROP TABLE carillon.rates;

DELETE FROM carillon.schema_migrations WHERE version = 20;
