DROP VIEW carillon.provider_token_input;
DROP TABLE carillon.maintenance, carillon.breakers, carillon.provider_tokens, carillon.rates;

DELETE FROM carillon.schema_migrations WHERE version = 5;
