DROP FUNCTION carillon.pace_devices, carillon.promote, carillon.move_due, carillon.put_off;
DROP TABLE carillon.device_slots;
DROP TYPE carillon.device_slot;

DELETE FROM carillon.schema_migrations WHERE version = 14;
