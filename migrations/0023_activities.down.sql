DELETE FROM carillon.schema_migrations WHERE version = 23;
