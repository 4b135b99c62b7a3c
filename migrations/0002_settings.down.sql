DROP TABLE carillon.provider_tokens, carillon.holds, carillon.app_roles, carillon.apps, carillon.certificates;
DROP FUNCTION carillon.certificate_changed, carillon.app_changed;

DELETE FROM carillon.schema_migrations WHERE version = 2;
