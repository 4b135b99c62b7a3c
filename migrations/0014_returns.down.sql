REVOKE EXECUTE ON FUNCTION carillon.record_cancelled FROM carillon_worker;
DROP FUNCTION carillon.release, carillon.promote, carillon.move_due, carillon.restore, carillon.call_off, carillon.postpone, carillon.place,
    carillon.renumber, carillon.free_ids, carillon.called_off, carillon.lock_unfinished, carillon.count_tokens,
    carillon.withdraw;

DELETE FROM carillon.schema_migrations WHERE version = 14;
