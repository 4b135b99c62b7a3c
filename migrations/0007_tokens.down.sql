DROP TABLE carillon.watched_tables, carillon.feedback, carillon.tokens;
DROP FUNCTION carillon.check_watched, carillon.unfit_to_watch,
    carillon.set_badge, carillon.with_badges, carillon.register_token, carillon.usual_end,
    carillon.check_kind, carillon.token_kinds, carillon.clean_tokens, carillon.invalid_token, carillon.token;

DELETE FROM carillon.schema_migrations WHERE version = 7;
