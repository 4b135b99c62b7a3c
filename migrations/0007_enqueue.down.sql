DROP FUNCTION
    carillon.enqueue(text, text[], text, integer, text, boolean, boolean, text, text, jsonb, json, text, integer,
        timestamptz, text, text, timestamptz, integer, text, text, interval, text),
    carillon.enqueue(text, text[], jsonb, integer, text, boolean, boolean, text, text, jsonb, json, text, integer,
        timestamptz, text, text, timestamptz, integer, text, text, interval, text),
    carillon.submit, carillon.store, carillon.clean_tokens, carillon.take_key, carillon.tokens_per_job;

DELETE FROM carillon.schema_migrations WHERE version = 7;
