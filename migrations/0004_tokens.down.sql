DROP TABLE carillon.tokens, carillon.feedback, carillon.watched_tables;

DELETE FROM carillon.schema_migrations WHERE version = 4;
