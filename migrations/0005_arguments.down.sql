DROP FUNCTION carillon.draft, carillon.check_silence, carillon.names_of_parts, carillon.has_parts,
    carillon.check_parts, carillon.check_members, carillon.check_heading;
DROP TYPE carillon.draft, carillon.message_arguments;

DELETE FROM carillon.schema_migrations WHERE version = 5;
