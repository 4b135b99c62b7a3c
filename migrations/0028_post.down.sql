-- The foreign key of api_tokens takes a lock on apps, and a session that waits for it blocks all others.
SET LOCAL lock_timeout = '5s';
DROP FUNCTION carillon.enqueue_with_token, carillon.remove_api_token, carillon.make_api_token, carillon.send_test,
    carillon.submit_once, carillon.preview_message, carillon.message_of_json, carillon.unfit_member, carillon.is_fit;
DROP TABLE carillon.api_tokens;

DELETE FROM carillon.schema_migrations WHERE version = 28;
