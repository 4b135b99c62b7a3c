DROP TABLE carillon.breakers, carillon.provider_tokens, carillon.rates;
DROP FUNCTION carillon.open_breakers, carillon.provider_token, carillon.take_turn;

DELETE FROM carillon.schema_migrations WHERE version = 18;
