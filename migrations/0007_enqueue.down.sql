DROP FUNCTION carillon.enqueue(
    text, text[], text, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint, timestamptz, text,
    text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text);
DROP FUNCTION carillon.enqueue(
    text, text[], anyelement, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint, timestamptz,
    text, text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text);
DROP FUNCTION carillon.submit, carillon.store, carillon.clean_tokens, carillon.take_key, carillon.ended_unsent,
    carillon.tokens_per_job;

DELETE FROM carillon.schema_migrations WHERE version = 7;
