DROP FUNCTION carillon.release, carillon.restore, carillon.call_off, carillon.put_back, carillon.place,
    carillon.renumber, carillon.free_ids, carillon.called_off, carillon.lock_unfinished, carillon.count_tokens,
    carillon.withdraw;

DELETE FROM carillon.schema_migrations WHERE version = 13;
