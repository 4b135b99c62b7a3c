REVOKE EXECUTE ON FUNCTION carillon.record_cancelled, carillon.called_off FROM carillon_worker;
DROP FUNCTION carillon.release, carillon.promote, carillon.move_due, carillon.put_off, carillon.restore, carillon.call_off,
    carillon.put_back, carillon.place, carillon.renumber, carillon.free_ids, carillon.lock_unfinished, carillon.count_tokens,
    carillon.withdraw;

DELETE FROM carillon.schema_migrations WHERE version = 14;
