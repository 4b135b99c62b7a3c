DROP TABLE carillon.webhooks, carillon.untaken_events, carillon.events, carillon.subscriptions;
DROP SEQUENCE carillon.event_ids;
DROP TYPE carillon.event, carillon.taken_range;

DELETE FROM carillon.schema_migrations WHERE version = 9;
