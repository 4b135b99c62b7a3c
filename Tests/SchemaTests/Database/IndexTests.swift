import TestSupport
import Testing

/// Each index slows down writes, so a statement must need it.
@Suite(.demo) struct IndexTests {
    /// Which statement needs each index, and how it finds its rows. A unique index is needed as a constraint.
    private static let statements = [
        ("audit_by_app", "Change", "audit WHERE app = 'demo'"),
        ("audit_by_time", "delete_old()", "audit WHERE at < now()"),
        ("apps_by_certificate", "CredentialStore", "apps WHERE certificate_id = 1"),
        (
            "channels_by_time", "take_channels()",
            "channels WHERE state IN ('requested', 'removing') AND next_attempt_at <= now()"
        ),
        ("scheduled_by_time", "promote()", "scheduled WHERE run_at <= now()"),
        ("scheduled_by_origin", "remove_waiting_jobs()", "scheduled WHERE app_id = 1 AND origin = 7"),
        ("scheduled_by_broadcast", "waiting_job_ids()", "scheduled WHERE app_id = 1 AND broadcast_id = 7"),
        ("inflight_by_worker", "ClaimKey", "inflight WHERE worker_id = 7"),
        ("unfinished_by_broadcast", "broadcast_progress()", "unfinished WHERE app_id = 1 AND broadcast_id = 7"),
        ("split_messages_by_id", "broadcast_progress()", "split_messages WHERE id = 7"),
        ("unknown_outcomes_by_message", "ended_unsent()", "unknown_outcomes WHERE app_id = 1 AND message_id = 7"),
        ("dedupe_by_time", "delete_old()", "dedupe WHERE until <= now()"),
        ("results_by_message", "broadcast_progress()", "results WHERE message_id = 7"),
        ("results_by_reference", "find_messages()", "results WHERE reference = 'r'"),
        ("results_by_broadcast", "broadcast_progress()", "results WHERE broadcast_id = 7"),
        ("failures_by_message", "has_only_failures()", "failures WHERE message_id = 7"),
        ("failures_by_app", "failure_batch_end()", "failures WHERE app_id = 1 AND failed_at <= now()"),
        ("failures_unrecorded", "find_messages()", "failures WHERE reference = 'r' AND reason = 'Unrecorded'"),
        ("failures_by_broadcast", "unrecorded_jobs()", "failures WHERE broadcast_id = 7"),
        ("events_by_id", "take_events()", "events WHERE id = 7"),
        ("events_by_app", "subscribe()", "events WHERE app_id = 1 AND at >= now()"),
        ("sent_pushes_by_app", "sent_pushes_of()", "sent_pushes WHERE app_id = 1 AND sent_at >= now()"),
        ("moved_tokens_by_app", "leaving_changes()", "moved_tokens WHERE app_id = 1"),
        ("tokens_by_owner", "set_badge()", "tokens WHERE app_id = 1 AND owner = 'o'"),
        ("tokens_by_kind", "open_audience()", "tokens WHERE app_id = 1 AND kind = 'widget' AND token > '00'"),
        ("tokens_by_end", "delete_old()", "tokens WHERE expires_at <= now()"),
        ("feedback_to_handle", "dead_tokens()", "feedback WHERE app_id = 1 AND handled_at IS NULL"),
        ("feedback_by_time_handled", "delete_old()", "feedback WHERE handled_at < now()"),
        ("feedback_by_owner", "owner_tokens()", "feedback WHERE app_id = 1 AND owner = 'o'"),
    ]

    /// Without rows, the primary keys of these tables would do too, because they begin with the same column.
    private static let rows = """
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin, broadcast_id)
        SELECT i, 1, '{aa}', '{}', now() + interval '1 day', i, i FROM generate_series(1, 5000) i;
        INSERT INTO carillon.unfinished (app_id, message_id, broadcast_id, remaining)
        SELECT 1, i, i, 1 FROM generate_series(1, 5000) i;
        INSERT INTO carillon.tokens (app_id, token, kind)
        SELECT 1, lpad(to_hex(i), 8, '0'), CASE WHEN i > 10 THEN 'device' ELSE 'widget' END
        FROM generate_series(1, 5000) i;
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at)
        SELECT 1, 'aa', now(), CASE WHEN i > 10 THEN now() END FROM generate_series(1, 5000) i;
        ANALYZE carillon.scheduled; ANALYZE carillon.unfinished; ANALYZE carillon.tokens; ANALYZE carillon.feedback;
        SET enable_seqscan = off
        """

    @Test func `each index is what its statement reads`() async throws {
        try await database.run(Self.rows)
        for (index, caller, rows) in Self.statements {
            let plan = try await database.plan("SELECT FROM carillon.\(rows)")
            let used = plan.matches(of: #/(?:using|Bitmap Index Scan on) (\w+)/#).map { "(\($0.output.1))" }
            // Those of partitions have names of their own.
            let names = try await database.rows(
                """
                SELECT c.relname FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
                WHERE c.oid = 'carillon.\(index)'::regclass OR i.inhparent = 'carillon.\(index)'::regclass
                """
            )
            #expect(used.contains { names.contains($0) }, "\(index), for \(caller):\n\(plan)")
        }
    }

    @Test func `no index is without a statement`() async throws {
        let indexes = try await database.rows(
            """
            SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition AND NOT i.indisunique
            """
        )
        #expect(Set(indexes).symmetricDifference(Self.statements.map { "(\($0.0))" }).sorted() == [])
    }
}
