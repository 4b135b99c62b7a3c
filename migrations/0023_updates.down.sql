DROP FUNCTION carillon.order_updates, carillon.withdraw, carillon.note_update;
DROP TABLE carillon.activity_stamps, carillon.activity_updates;

DELETE FROM carillon.schema_migrations WHERE version = 23;
