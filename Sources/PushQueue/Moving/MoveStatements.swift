import CarillonPostgres

/// The statements of `AppMove`. Rows, and arrays of them, travel as the text that PostgreSQL writes.
enum MoveStatements {
    // MARK: Both

    static let version = Statement("move_version", "SELECT max(m.version)::int8 FROM carillon.schema_migrations m")

    static let tables = Statement(
        "move_tables",
        "SELECT t.place, t.is_history FROM carillon.moving_tables() t ORDER BY t.place"
    )

    // MARK: The source

    static let isLeaving = Statement(
        "move_is_leaving",
        "SELECT EXISTS (SELECT FROM carillon.moves m JOIN carillon.apps a ON a.id = m.app_id WHERE a.name = $1 AND m.is_source)"
    )
    static let watched = Statement(
        "move_watched",
        """
        SELECT format('%I.%I', n.nspname, c.relname) AS relation, w.token_column::text, w.updated_column::text, w.app_column::text
        FROM carillon.watched_tables w JOIN carillon.apps a ON a.id = w.app_id JOIN pg_class c ON c.oid = w.relation
            JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE a.name = $1 ORDER BY w.id
        """
    )
    static let leave = Statement(
        "move_leave",
        "SELECT m.app_id, m.move::text, m.run, m.source::text, m.has_left FROM carillon.leave_app($1, $2) AS m"
    )
    static let roles = Statement(
        "move_roles",
        "SELECT o.rolname::text FROM carillon.app_roles r JOIN pg_roles o ON o.oid = r.role WHERE r.app_id = $1 ORDER BY 1"
    )
    static let tokens = Statement(
        "move_tokens",
        """
        SELECT t.rows::text AS rows, t.last, coalesce(cardinality(t.rows), 0)::int8 AS count
        FROM carillon.leaving_tokens($1, $2, $3) AS t
        """
    )
    static let changes = Statement(
        "move_changes",
        """
        SELECT c.tokens::text AS tokens, c.rows::text AS rows, c.read_at::text AS read_at,
            coalesce(cardinality(c.tokens), 0)::int8 AS count
        FROM carillon.leaving_changes($1, $2, $3) AS c
        """
    )
    static let drain = Statement("move_drain", "SELECT carillon.drain_app($1, $2, true)")
    static let undrain = Statement("move_undrain", "SELECT carillon.drain_app($1, $2, false)")
    static let numbers = Statement("move_numbers", "SELECT carillon.leaving_numbers()::text")
    static let rows = Statement(
        "move_rows",
        """
        SELECT r.rows::text AS rows, coalesce(cardinality(r.rows), 0)::int8 AS count
        FROM (SELECT carillon.leaving_rows($1, $2, $3, $4) AS rows) r
        """
    )
    static let depart = Statement("move_depart", "SELECT carillon.depart_app($1, $2)")
    static let batch = Statement("move_batch", "SELECT carillon.leaving_batch($1, $2, $3, $4::text::int8[])")
    static let pause = Statement(
        "move_pause",
        "SELECT m.was_paused, m.paused_reason FROM carillon.moves m WHERE m.app_id = $1"
    )
    static let writers = Statement("move_writers", "SELECT carillon.sleep_holders()::text")
    /// Those of the given transactions that are still open.
    static let openWriters = Statement(
        "move_open_writers",
        "SELECT ARRAY(SELECT unnest($1::text::text[]) INTERSECT SELECT unnest(carillon.sleep_holders()))::text"
    )
    static let unfollow = Statement("move_unfollow", "SELECT carillon.follow_tokens($1, false)")
    static let history = Statement(
        "move_history",
        """
        SELECT h.rows::text AS rows, coalesce(cardinality(h.rows), 0)::int8 AS count, h.next_partition, h.next_page
        FROM carillon.leaving_history($1, $2, $3, $4, $5) AS h
        """
    )
    static let lateTokens = Statement(
        "move_late_tokens",
        """
        SELECT t.tokens::text AS tokens, t.rows::text AS rows, t.read_at::text AS read_at, t.deleted AS count
        FROM carillon.leaving_late_tokens($1, $2, $3) AS t
        """
    )
    static let endDeparture = Statement("move_end_departure", "SELECT carillon.end_departure($1, $2)")
    static let stay = Statement("move_stay", "SELECT carillon.stay_app($1)")
    static let installation = Statement("move_installation", "SELECT i.id::text FROM carillon.installation i")
    /// Copies that were adopted have the same installation.
    static let place = Statement(
        "move_place",
        "SELECT concat_ws(' ', i.id, i.system_identifier, i.database_oid) FROM carillon.installation i"
    )

    // MARK: The target

    /// An app that was to move here, but did not, is replaced.
    static let isTaken = Statement(
        "move_is_taken",
        "SELECT EXISTS (SELECT FROM carillon.apps a WHERE a.name = $1 AND a.moved_to IS DISTINCT FROM '')"
    )
    static let expectWatched = Statement(
        "move_expect_watched",
        "SELECT carillon.expect_watched($1, $2::text::name, $3::text::name, $4::text::name)"
    )
    static let arriving = Statement(
        "move_arriving",
        "SELECT carillon.arriving_app($1, $2::text::uuid, $3, $4::text::uuid)"
    )
    static let expect = Statement(
        "move_expect",
        "SELECT carillon.expect_app($1, $2::text::uuid, $3, $4::text::uuid, $5)"
    )
    static let isolate = Statement("move_isolate", "SELECT carillon.isolate_app($1, $2::text::name)")
    static let tokensUntil = Statement(
        "move_tokens_until",
        "SELECT m.tokens_until FROM carillon.moves m WHERE m.app_id = $1"
    )
    static let putTokens = Statement("move_put_tokens", "SELECT carillon.arriving_tokens($1, $2, $3::text::text[], $4)")
    static let putChanges = Statement(
        "move_put_changes",
        "SELECT carillon.arriving_changes($1, $2, $3::text::text[], $4::text::text[], $5::text::timestamptz)"
    )
    static let beginArrival = Statement("move_begin_arrival", "SELECT carillon.begin_arrival($1, $2, $3::text::int8[])")
    static let putRows = Statement(
        "move_put_rows",
        "SELECT coalesce(carillon.arriving_rows($1, $2, $3, $4::text::text[]), '{}')::text"
    )
    static let arrivedBatch = Statement(
        "move_arrived_batch",
        "SELECT m.late_batch, coalesce(m.late_ids, '{}')::text AS ids FROM carillon.moves m WHERE m.app_id = $1"
    )
    /// The ids of several tables are arrays one after the other.
    static let noteBatch = Statement(
        "move_note_batch",
        """
        SELECT carillon.note_batch($1, $2, $3, ARRAY(
            SELECT unnest(b.ids::int8[]) FROM string_to_table($4, ' ') AS b(ids)))
        """
    )
    static let arrive = Statement("move_arrive", "SELECT carillon.arrive_app($1, $2, $3, $4)")
    static let endArrival = Statement("move_end_arrival", "SELECT carillon.end_arrival($1, $2)")
    static let discard = Statement("move_discard", "SELECT carillon.discard_arrival($1, $2::text::uuid)")
}
