DROP FUNCTION carillon.requeue_failures, carillon.requeue_some, carillon.requeueable, carillon.failed_apps, carillon.message_parts, carillon.was_cancelled,
    carillon.kept_payloads, carillon.can_requeue;

DELETE FROM carillon.schema_migrations WHERE version = 17;
