DROP FUNCTION carillon.draft, carillon.check_parts, carillon.parsed, carillon.check_heading, carillon.invalid_token,
    carillon.token, carillon.app_id, carillon.unknown_app, carillon.apps_of_caller, carillon.compact,
    carillon.refusal;
DROP TYPE carillon.draft, carillon.message_arguments, carillon.refusal;

DELETE FROM carillon.schema_migrations WHERE version = 5;
