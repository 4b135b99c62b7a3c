DROP TYPE carillon.audience_arguments, carillon.publication, carillon.media_arguments,
    carillon.activity_arguments, carillon.trace_event, carillon.message_state, carillon.open_counts, carillon.ended_counts,
    carillon.waiting_job, carillon.token_outcome, carillon.chosen_message, carillon.draft, carillon.push_rules,
    carillon.message_arguments;

DELETE FROM carillon.schema_migrations WHERE version = 7;
