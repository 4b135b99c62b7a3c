DROP FUNCTION carillon.failed_parts, carillon.find_messages, carillon.has_only_failures, carillon.find_channel, carillon.token_text, carillon.messages_of,
    carillon.find_job, carillon.chosen_apps, carillon.waiting_apps, carillon.filled_lanes;

DELETE FROM carillon.schema_migrations WHERE version = 8;
