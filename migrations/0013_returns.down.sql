DROP FUNCTION carillon.release, carillon.restore, carillon.end_cancelled, carillon.put_back, carillon.place,
    carillon.renumber, carillon.free_ids, carillon.find_cancelled, carillon.lock_unfinished, carillon.count_tokens,
    carillon.as_cancelled;

DELETE FROM carillon.schema_migrations WHERE version = 13;
