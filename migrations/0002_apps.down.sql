DROP FUNCTION carillon.app_record;
DROP TABLE carillon.app_roles, carillon.unknown_channels, carillon.channels, carillon.holds, carillon.apps, carillon.certificates;
DROP FUNCTION carillon.app_id, carillon.broken_json, carillon.parsed, carillon.unknown_app, carillon.refusal, carillon.apps_of_caller,
    carillon.app_changed, carillon.app_recorded, carillon.certificate_changed, carillon.certificate_recorded;
DROP TYPE carillon.refusal;

DELETE FROM carillon.schema_migrations WHERE version = 2;
