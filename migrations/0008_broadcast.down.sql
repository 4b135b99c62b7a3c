DROP FUNCTION carillon.broadcast(
    text, text, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint, timestamptz, text, text,
    timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text);
DROP FUNCTION carillon.broadcast(
    text, anyelement, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint, timestamptz, text,
    text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text);
DROP FUNCTION carillon.broadcast_progress, carillon.messages_of, carillon.find_job, carillon.chosen_apps,
    carillon.waiting_apps, carillon.filled_lanes;

DELETE FROM carillon.schema_migrations WHERE version = 8;
