DROP VIEW carillon.credential_input;
DROP TABLE carillon.api_tokens, carillon.app_roles, carillon.unknown_channels, carillon.channels, carillon.holds,
    carillon.moved_tokens, carillon.moves, carillon.apps,
    carillon.certificates;
DROP TYPE carillon.refusal;

DELETE FROM carillon.schema_migrations WHERE version = 2;
