DROP FUNCTION carillon.provider_token;

DELETE FROM carillon.schema_migrations WHERE version = 17;
