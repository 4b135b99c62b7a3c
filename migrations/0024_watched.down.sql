DROP FUNCTION carillon.catch_up, carillon.reap_watched, carillon.ask_watched, carillon.watched_match;

DELETE FROM carillon.schema_migrations WHERE version = 24;
