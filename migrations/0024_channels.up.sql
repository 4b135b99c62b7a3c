-- Channels of APNs, and what is published to them.

INSERT INTO carillon.schema_migrations (version, name) VALUES (24, 'channels');
