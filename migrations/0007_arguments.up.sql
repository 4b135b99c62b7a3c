-- Checks the arguments of a message and builds its payload.
--
-- Functions of this schema call these and name the schema; only functions that users call pin search_path.

-- The arguments of enqueue and broadcast.
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
    is_strict         boolean,
    on_duplicate      text,
    aps               jsonb,
    interruption_level text,
    relevance_score   double precision,
    target_content_id text,
    filter_criteria   text,
    stale_date        timestamptz,
    payloads          text[],
    payloads_type     regtype,  -- the type of the argument
    badge_add         bigint
);

-- A message without its tokens, checked and ready to be stored, or its refusal.
CREATE TYPE carillon.draft AS (
    app_id integer, payload text, push_type text, priority smallint, scheduled boolean, refusal carillon.refusal,
    payloads json[],  -- one for each token that was given
    after_badge text  -- where each token has a badge of its own: what follows it, and payload is what precedes it
);

CREATE TYPE carillon.message_state AS (
    id              bigint,
    app             text,
    reference       text,
    -- scheduled, ready, in flight, retrying; at the end sent or partly sent, or if nothing was sent failed, expired,
    -- cancelled, or empty: a row without tokens
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
    held            text,
    created_at      timestamptz,
    finished_at     timestamptz,
    -- Of single tokens, the first 1,000: those that failed, those that wait, and those that were sent with an
    -- apns-unique-id that was kept. All others were sent, expired or cancelled.
    outcomes        jsonb,
    may_have_arrived boolean
);
COMMENT ON TYPE carillon.message_state IS 'A message and what became of it, as message_status returns it.';
COMMENT ON COLUMN carillon.message_state.id IS 'what enqueue or broadcast returned';
COMMENT ON COLUMN carillon.message_state.app IS 'the name of the app';
COMMENT ON COLUMN carillon.message_state.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.message_state.state IS
    'scheduled, ready, in flight or retrying; once ended: sent, partly sent, failed, expired, cancelled or empty';
COMMENT ON COLUMN carillon.message_state.attempts IS 'the highest number of attempts begun for a push';
COMMENT ON COLUMN carillon.message_state.next_attempt_at IS 'when its next scheduled job or retry is due';
COMMENT ON COLUMN carillon.message_state.last_status IS
    'the status of the last failed attempt; null: no answer; 200: every push that has ended was sent';
COMMENT ON COLUMN carillon.message_state.last_reason IS
    'the reason of the last failed attempt, even if the push then expired or was cancelled; Superseded: a newer update '
    'replaced it';
COMMENT ON COLUMN carillon.message_state.tokens IS 'how many pushes it has, one for each token';
COMMENT ON COLUMN carillon.message_state.sent IS
    'pushes that APNs answered with 200; with the protocol binary, those after which no error came';
COMMENT ON COLUMN carillon.message_state.failed IS 'pushes that failed';
COMMENT ON COLUMN carillon.message_state.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.message_state.cancelled IS 'pushes that were cancelled, or superseded by a newer update';
COMMENT ON COLUMN carillon.message_state.waiting IS 'pushes that have not ended';
COMMENT ON COLUMN carillon.message_state.held IS
    'why it is not sent at the moment: a paused app, no worker, a refused credential';
COMMENT ON COLUMN carillon.message_state.created_at IS 'when it was enqueued; null: that could not be recorded';
COMMENT ON COLUMN carillon.message_state.finished_at IS 'when its last push ended; null: some wait';
COMMENT ON COLUMN carillon.message_state.outcomes IS
    'an array of objects {token, state, status, reason, next_attempt_at}: tokens that failed or wait, 1,000 at most; none '
    'that was sent, expired or cancelled; with apns_unique_id where it was kept, also for tokens that were sent';
COMMENT ON COLUMN carillon.message_state.may_have_arrived IS
    'whether pushes that do not count as sent may have been delivered, because an attempt had no answer';

-- Live Activities: what starts, updates and ends them.

-- The arguments of the three functions for callers.
CREATE TYPE carillon.activity_arguments AS (
    app             text,
    tokens          text[],
    event           text,
    state_text      text,   -- the content state as text, or as JSON
    content_state   jsonb,
    attributes_type text,
    attributes_text text,   -- likewise
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
    extra           jsonb
);

-- What is published to a channel.

-- The arguments of publish.
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

INSERT INTO carillon.schema_migrations (version, name) VALUES (7, 'arguments');
