DROP FUNCTION carillon.draft, carillon.check_parts, carillon.check_members, carillon.parsed, carillon.check_heading,
    carillon.app_id, carillon.unknown_app, carillon.compact, carillon.refusal;
DROP TYPE carillon.draft, carillon.message_arguments, carillon.refusal;

DELETE FROM carillon.schema_migrations WHERE version = 5;
