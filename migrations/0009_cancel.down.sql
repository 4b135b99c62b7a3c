DROP FUNCTION
    carillon.cancel_broadcast, carillon.take_back_broadcast, carillon.cancel, carillon.cancel_messages, carillon.take_back,
    carillon.remnants, carillon.tokens_in_flight, carillon.write_off, carillon.record_cancelled, carillon.lock_for_cancel;
DROP TYPE carillon.remnant, carillon.withdrawn;

DELETE FROM carillon.schema_migrations WHERE version = 9;
