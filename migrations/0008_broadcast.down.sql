DROP FUNCTION
    carillon.broadcast(text, text, integer, text, boolean, boolean, text, text, jsonb, json, text, integer,
        timestamptz, text, text, timestamptz, integer, text, text, interval, text),
    carillon.broadcast(text, jsonb, integer, text, boolean, boolean, text, text, jsonb, json, text, integer,
        timestamptz, text, text, timestamptz, integer, text, text, interval, text),
    carillon.broadcast_progress, carillon.find_job, carillon.filled_lanes;

DELETE FROM carillon.schema_migrations WHERE version = 8;
