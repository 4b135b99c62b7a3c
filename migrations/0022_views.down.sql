DROP FUNCTION carillon.feedback_schedule, carillon.token_counts, carillon.next_due, carillon.search_token,
    carillon.search_reference, carillon.search_depth;
DROP VIEW carillon.app_status, carillon.held_apps, carillon.pending;
DROP FUNCTION carillon.queue_depth, carillon.estimated_depth, carillon.scheduled_depth;

DELETE FROM carillon.schema_migrations WHERE version = 22;
