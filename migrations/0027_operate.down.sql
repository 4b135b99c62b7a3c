DROP FUNCTION carillon.message_contents, carillon.newest_activities, carillon.dismiss_step, carillon.requeue_step, carillon.count_failures, carillon.failures_app,
    carillon.failures_end, carillon.cancel_message, carillon.limit_app, carillon.resume_app, carillon.pause_app,
    carillon.app_to_change, carillon.refuse;

DELETE FROM carillon.schema_migrations WHERE version = 27;
