DROP FUNCTION carillon.draft, carillon.compose, carillon.check_heading, carillon.token, carillon.app_id,
    carillon.compact, carillon.refuse;
DROP TYPE carillon.draft;

DELETE FROM carillon.schema_migrations WHERE version = 6;
