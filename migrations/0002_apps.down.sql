DROP TABLE carillon.app_roles, carillon.holds, carillon.apps, carillon.certificates;
DROP FUNCTION carillon.apps_of_caller, carillon.app_changed, carillon.certificate_changed;

DELETE FROM carillon.schema_migrations WHERE version = 2;
