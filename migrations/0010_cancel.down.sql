DROP VIEW carillon.cancelling;
DROP FUNCTION carillon.cancel_broadcast, carillon.cancel, carillon.cancel_messages, carillon.waiting_parts,
    carillon.remove_waiting, carillon.remnants, carillon.record_cancelled, carillon.hold_off_cancels,
    carillon.lock_for_cancel, carillon.updated_tokens;
DROP TYPE carillon.remnant, carillon.cancelled_job;

DELETE FROM carillon.schema_migrations WHERE version = 10;
