-- Types for the arguments of messages and for what is built from them.

CREATE TYPE carillon.message_arguments AS (
    app               text,
    tokens            text[],
    alert             text,
    alert_json        jsonb,  -- an alert given as JSON
    badge             bigint,
    sound             text,
    content_available boolean,
    mutable_content   boolean,
    category          text,
    thread_id         text,
    extra             jsonb,
    payload           text,
    payload_type      regtype,  -- the type of the argument
    push_type         text,
    priority          bigint,
    expires_at        timestamptz,
    collapse_id       text,
    topic             text,
    run_at            timestamptz,
    lane              bigint,
    reference         text,
    dedupe_key        text,
    dedupe_for        interval,
    on_unknown        text,
    title             text,
    subtitle          text,
    body              text,
    strict            boolean,
    on_duplicate      text,
    aps               jsonb,
    interruption_level text,
    relevance_score   double precision,
    target_content_id text,
    filter_criteria   text,
    stale_date        timestamptz,
    payloads          text[],
    payloads_type     regtype,  -- the type of the argument
    badge_add         bigint,
    bodies            jsonb  -- by locale
);
COMMENT ON TYPE carillon.message_arguments IS 'Internal: the arguments of a call of enqueue or broadcast.';

CREATE TYPE carillon.push_rules AS (
    push_type            text,
    topic_suffix         text,
    priorities           smallint[],
    default_priority     smallint,
    payload_limit        integer,
    collapse_id_limit    integer,
    is_silent            boolean,
    needs_expiration     boolean,
    needs_provider_token boolean,
    token_kind           text,
    start_kind           text,    -- of the tokens that starts are sent to, if it is another
    is_update            boolean  -- an older push to a token must never arrive after a newer one
);
COMMENT ON TYPE carillon.push_rules IS 'What Apple requires of the pushes of one push type, as push_types returns it.';

CREATE TYPE carillon.draft AS (
    app_id integer, payload text, push_type text, priority smallint,
    run_at timestamptz,  -- null if it is due at once
    time_zone text,  -- of the first tokens, if run_at is a time by their clocks
    refusal carillon.refusal,
    payloads json[],  -- one for each token that was given
    after_badge text, -- if each token has its own badge: what follows the badge; payload is what precedes it
    locales text[],   -- if the token's locale chooses the payload: in lower case, first 'default'
    bodies text[],    -- for each of locales: the payload, or what precedes the badge; payload is the first
    home text         -- the app's environment, if its tokens may belong to both
);
COMMENT ON TYPE carillon.draft IS
    'Internal: a message without its tokens, checked and ready to be stored, or the reason why it is refused.';

-- last_job and later fields are from split_messages, and null if the message was not split.
CREATE TYPE carillon.chosen_message AS (
    app_id integer, id bigint, app text, last_job bigint, tokens bigint, reference text, created_at timestamptz
);
COMMENT ON TYPE carillon.chosen_message IS 'Internal: a message that message_status describes.';

CREATE TYPE carillon.token_outcome AS (
    token text, state text, status smallint, reason text, next_attempt_at timestamptz, apns_unique_id uuid
);
COMMENT ON TYPE carillon.token_outcome IS 'Internal: the state of the push to one token of a message, for message_status.';

CREATE TYPE carillon.waiting_job AS (
    state       text,  -- ready, scheduled or in flight
    id          bigint,
    message_id  bigint,
    lane        smallint,
    attempt     smallint,
    created_at  timestamptz,
    run_at      timestamptz,
    claimed_at  timestamptz,
    last_status smallint,
    last_reason text,
    expires_at  timestamptz,
    tokens      text[]  -- those that were searched for, in lower case
);
COMMENT ON TYPE carillon.waiting_job IS 'Internal: a job that has not ended, for search_token and trace.';

CREATE TYPE carillon.ended_counts AS (
    sent           bigint,
    failed         bigint,
    expired        bigint,
    cancelled      bigint,
    remaining      bigint,  -- what jobs with a row of unfinished have yet to count
    attempts       integer,
    last_status    smallint,
    last_reason    text,
    reference      text,
    created_at     timestamptz,
    finished_at    timestamptz,
    ids            bigint[],  -- of its jobs
    failed_ids     bigint[],  -- of those with failures
    has_unique_ids boolean
);
COMMENT ON TYPE carillon.ended_counts IS 'Internal: counts of the pushes of a message that have ended, for message_status.';

CREATE TYPE carillon.open_counts AS (
    state       text,  -- null: all have ended
    tokens      bigint,  -- of the whole message
    waiting     bigint,
    counted     bigint,  -- tokens of jobs that were found and have a row of unfinished
    attempts    integer,
    run_at      timestamptz,
    last_status smallint,
    last_reason text,
    reference   text,
    created_at  timestamptz,
    expires_at  timestamptz,
    ids         bigint[],  -- of its jobs
    outcomes    carillon.token_outcome[]  -- of the first 1,000 tokens
);
COMMENT ON TYPE carillon.open_counts IS 'Internal: counts of the pushes of a message that have not ended, for message_status.';

CREATE TYPE carillon.message_state AS (
    id              bigint,
    app             text,
    reference       text,
    -- scheduled, ready, in flight or retrying; once ended, sent or partly sent, or if nothing was sent: failed, expired, cancelled,
    -- or empty (a row without tokens)
    state           text,
    attempts        integer,
    next_attempt_at timestamptz,
    last_status     smallint,
    last_reason     text,
    tokens          bigint,
    sent            bigint,
    failed          bigint,
    expired         bigint,
    cancelled       bigint,
    waiting         bigint,
    waiting_reason  text,
    created_at      timestamptz,
    finished_at     timestamptz,
    -- The first 1,000 tokens that failed, that wait, or that were sent with an apns-unique-id that was kept. All others were sent,
    -- expired or cancelled.
    outcomes        jsonb,
    may_have_arrived boolean
);
COMMENT ON TYPE carillon.message_state IS 'A message and its state, as returned by message_status.';
COMMENT ON COLUMN carillon.message_state.id IS 'the id that enqueue or broadcast returned';
COMMENT ON COLUMN carillon.message_state.app IS 'the name of the app';
COMMENT ON COLUMN carillon.message_state.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.message_state.state IS
    'scheduled, ready, in flight or retrying; once ended: sent, partly sent, failed, expired, cancelled or empty';
COMMENT ON COLUMN carillon.message_state.attempts IS 'the highest number of attempts started for any push';
COMMENT ON COLUMN carillon.message_state.next_attempt_at IS 'when its next scheduled job or retry is due';
COMMENT ON COLUMN carillon.message_state.last_status IS
    'the status of the last failed attempt; null if there was no answer; 200 if every push that has ended was sent';
COMMENT ON COLUMN carillon.message_state.last_reason IS
    'the reason of the last failed attempt, even if the push then expired or was cancelled; Superseded if a newer push '
    'replaced it';
COMMENT ON COLUMN carillon.message_state.tokens IS 'the number of its pushes, one for each token';
COMMENT ON COLUMN carillon.message_state.sent IS
    'pushes that APNs answered with 200; with the protocol binary, pushes that no error followed';
COMMENT ON COLUMN carillon.message_state.failed IS 'pushes that failed';
COMMENT ON COLUMN carillon.message_state.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.message_state.cancelled IS 'pushes that were cancelled, or superseded by a newer push';
COMMENT ON COLUMN carillon.message_state.waiting IS 'pushes that have not ended';
COMMENT ON COLUMN carillon.message_state.waiting_reason IS
    'why it is not sent at the moment, for example a paused app, no worker, or a refused credential; and that it has expired';
COMMENT ON COLUMN carillon.message_state.created_at IS 'when it was enqueued; null if this could not be recorded';
COMMENT ON COLUMN carillon.message_state.finished_at IS 'when its last push ended; null if some pushes have not ended';
COMMENT ON COLUMN carillon.message_state.outcomes IS
    'an array of objects {token, state, status, reason, next_attempt_at} for up to 1,000 tokens that failed or wait; if '
    'apns_unique_id was kept, it is included, also for tokens that were sent';
COMMENT ON COLUMN carillon.message_state.may_have_arrived IS
    'whether pushes that do not count as sent may have been delivered, because an attempt had no answer';

CREATE TYPE carillon.trace_event AS (
    at         timestamptz,
    event      text,
    what       text,
    message_id bigint,
    token      text,
    details    jsonb
);
COMMENT ON TYPE carillon.trace_event IS 'What is known of a message, device token or owner at one time, as returned by trace.';
COMMENT ON COLUMN carillon.trace_event.at IS
    'when it happened, or is due; the present for what is so now; null if the time is not known, and for what is not known';
COMMENT ON COLUMN carillon.trace_event.event IS
    'enqueued, scheduled, waiting, in flight, retrying, no answer, sent, failed, expired, cancelled, superseded, empty, requeued, '
    'dismissed, registered, owner, dead since, reported dead, reaped, in broadcasts, to be deleted, left out, not registered, '
    'many tokens, not found or not known';
COMMENT ON COLUMN carillon.trace_event.what IS 'the event in plain words';
COMMENT ON COLUMN carillon.trace_event.message_id IS
    'the id of the message; for failed, requeued, dismissed, and sent with a token, the id of its job, which message_status takes '
    'too';
COMMENT ON COLUMN carillon.trace_event.token IS 'the device token, if the event is about one';
COMMENT ON COLUMN carillon.trace_event.details IS
    'what the words are made from: numbers, each with its precision, and status, reason and ids';

CREATE TYPE carillon.activity_arguments AS (
    app             text,
    tokens          text[],
    event           text,
    state_text      text,   -- the content state as text, or as JSON
    content_state   jsonb,
    attributes_type text,
    attributes_text text,   -- in the same form
    attributes      jsonb,
    alert           text,
    alert_type      regtype,  -- the type of the argument
    title           text,
    body            text,
    sound           text,
    channel         text,
    push_token      boolean,
    everyone        boolean,
    stale_date      timestamptz,
    relevance_score double precision,
    dismissal_date  timestamptz,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    topic           text,
    aps             jsonb,
    extra           jsonb,
    where_attributes jsonb,
    locales         text[]
);
COMMENT ON TYPE carillon.activity_arguments IS
    'Internal: the arguments of a call of start_activity, update_activity or end_activity.';

CREATE TYPE carillon.media_arguments AS (
    app             text,
    tokens          text[],
    event           text,
    attributes_text text,   -- as text, or as JSON
    everyone        boolean,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    topic           text,
    aps             jsonb,
    extra           jsonb,
    where_attributes jsonb,
    locales         text[]
);
COMMENT ON TYPE carillon.media_arguments IS
    'Internal: the arguments of a call of start_media, update_media or end_media.';

CREATE TYPE carillon.publication AS (
    app             text,
    channel         text,
    state_text      text,     -- the content state as text, or as JSON
    event           text,
    alert           text,
    alert_type      regtype,  -- the type of the argument
    title           text,
    body            text,
    stale_date      timestamptz,
    dismissal_date  timestamptz,
    relevance_score double precision,
    sound           text,
    aps             jsonb,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    on_duplicate    text,
    extra           jsonb
);
COMMENT ON TYPE carillon.publication IS 'Internal: the arguments of a call of publish.';

CREATE TYPE carillon.audience_arguments AS (
    kind             text,
    where_attributes jsonb,
    locales          text[],
    activity_type    text,
    started_type     text,  -- of the Live Activity that is started: tokens that name another one cannot start it
    run_at_local     text,
    time_zone        text
);
COMMENT ON TYPE carillon.audience_arguments IS 'Internal: which tokens of an app a broadcast reaches, and when by their clocks.';

INSERT INTO carillon.schema_migrations (version, name) VALUES (7, 'arguments');
