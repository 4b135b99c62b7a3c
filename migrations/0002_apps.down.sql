DROP VIEW carillon.credential_input, carillon.export_token_input;
DROP TABLE carillon.export_tokens, carillon.api_tokens, carillon.app_roles, carillon.unknown_channels, carillon.channels,
    carillon.holds, carillon.moved_tokens, carillon.moves, carillon.apps,
    carillon.certificates;
DROP TYPE carillon.refusal;

DELETE FROM carillon.schema_migrations WHERE version = 2;
