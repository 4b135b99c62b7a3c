DROP TYPE carillon.publication, carillon.activity_arguments, carillon.message_state, carillon.draft, carillon.message_arguments;

DELETE FROM carillon.schema_migrations WHERE version = 7;
