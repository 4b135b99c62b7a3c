-- Live Activities: what starts, updates and ends them.

INSERT INTO carillon.schema_migrations (version, name) VALUES (23, 'activities');
