DROP FUNCTION carillon.take_over, carillon.split, carillon.settle_refused, carillon.settle, carillon.unsettled,
    carillon.progress, carillon.release, carillon.restore;

DELETE FROM carillon.schema_migrations WHERE version = 13;
