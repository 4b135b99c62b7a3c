import CarillonPostgres
import Testing

/// Tries what the roles may not do, statement by statement, on each column of each relation.
@Suite(.scene) struct RightsCases {
    private struct Column: Sendable {
        let relation: String
        let name: String
        let isView: Bool
    }

    /// What each role may write, as "insert results", or "update apps.paused" where it is that column only.
    private static let mayWrite: [String: Set<String>] = [
        "carillon_reader": [],
        "carillon_operator": [],
        "carillon_app": Self.rights("insert", on: "tokens " + Self.sentColumns).union([
            "update tokens", "delete tokens",
        ]),
        "carillon_tenant": Self.rights("insert", on: "tokens " + Self.sentColumns).union(["update tokens"]),
        "carillon_worker": Self.rights(
            "insert",
            on: Self.queue
                + " results failures failed_messages feedback breakers rates unknown_outcomes provider_token_input"
                + " events untaken_events sent_pushes"
        )
        .union(Self.rights("update", on: Self.queue + " feedback breakers rates reap_lock")).union(
            Self.rights("delete", on: Self.queue + " tokens")
        )
        .union([
            "delete channels", "update channels.state", "update channels.channel_id", "update channels.created_at",
            "update channels.last_error", "update channels.attempts", "update channels.request_is_open",
            "update channels.next_attempt_at", "delete unknown_channels", "insert unknown_channels.app_id",
            "insert unknown_channels.channel_id", "insert unknown_channels.is_ours", "update unknown_channels.is_ours",
            "update failed_messages.tokens", "update failed_messages.payloads",
            "update tokens.last_update", "update tokens.environment", "update apps.paused", "update apps.paused_reason",
            "update apps.feedback_error",
            "update watched_tables.last_error", "update watched_tables.missed_from",
            "update certificates.not_after", "update certificates.topics", "update certificates.status",
            "update certificates.last_error",
        ]),
    ]
    private static let sentColumns = """
        messages.app_id messages.lane messages.tokens messages.payload messages.payloads messages.push_type \
        messages.priority messages.expires_at messages.collapse_id messages.topic messages.reference messages.on_unknown messages.created_at
        """
    private static let queue = """
        messages scheduled inflight workers unfinished push_counts provider_tokens dedupe fleet_tasks holds \
        updates update_stamps device_slots
        """

    /// Secrets, and the data of apps and users.
    private static let mayNotRead: [String: Set<String>] = [
        "carillon_reader": [
            "certificates", "provider_tokens", "installation", "messages", "scheduled", "tokens", "dedupe",
            "inflight.jobs",
            "apps.gateway_ca", "failed_messages", "unknown_outcomes", "updates", "update_stamps",
            "device_slots", "subscriptions", "events", "untaken_events", "sent_pushes", "webhooks",
            "api_tokens.digest",
        ],
        "carillon_operator": [
            "certificates", "provider_tokens", "installation", "messages", "scheduled", "tokens", "dedupe", "inflight",
            "apps", "failed_messages", "failures", "results", "audit", "api_tokens", "pending", "app_status", "workers",
            "worker_status", "subscriptions", "events", "untaken_events", "sent_pushes", "consumers", "webhooks",
            "webhook_status",
        ],
        "carillon_app": [
            "certificates", "provider_tokens", "installation", "messages.payload", "messages.tokens", "scheduled",
            "inflight", "workers", "worker_status", "apps.gateway_ca", "apps.certificate_id", "failed_messages",
            "dedupe",
            "split_messages",
            "maintenance", "unknown_outcomes", "updates", "update_stamps", "device_slots", "audit",
            "api_tokens", "subscriptions", "events", "untaken_events", "sent_pushes", "webhooks", "webhook_status",
            "export_tokens", "export_token_input", "exported_metrics",
        ],
        "carillon_tenant": [
            "api_tokens", "app_locks", "app_status", "audit", "breakers",
            "cancelled", "cancelling", "certificates", "credential_input", "dedupe", "device_slots", "failed_messages",
            "feedback", "fleet_tasks", "held_apps", "holds", "inflight", "installation", "maintenance", "pending",
            "provider_token_input", "provider_tokens", "push_count_sums", "push_counts", "rates", "reap_lock",
            "scheduled", "split_messages", "unfinished", "unknown_channels", "unknown_outcomes", "update_stamps",
            "updates", "watched_tables", "subscriptions", "events", "untaken_events", "sent_pushes", "webhooks",
            "webhook_status", "export_tokens", "export_token_input", "exported_metrics",
            "worker_status", "workers", "apps.gateway_ca", "apps.certificate_id", "messages.payload", "messages.tokens",
        ],
        "carillon_worker": [
            "audit", "api_tokens", "events", "untaken_events", "sent_pushes", "webhooks", "exported_metrics",
        ],
    ]

    /// The functions that run with their owner's rights, and the roles that may call them.
    private static let mayCall: [String: Set<String>] = [
        "carillon_reader": [
            "default_partition_rows", "queue_depth", "scheduled_depth", "broadcast_progress", "broadcast_zones",
            "message_status",
            "message_jobs", "failed_jobs", "trace",
            "search_owner", "search_reference", "search_token", "unsearched_apps", "next_due", "token_counts",
            "feedback_schedule", "newest_activities", "apps_of_caller", "untaken_depth",
        ],
        "carillon_operator": [
            "pause_app", "resume_app", "limit_app", "cancel_message", "count_failures", "requeue_batch",
            "dismiss_batch",
            "preview_message", "send_test", "app_of_digest", "call_with_token", "pause_webhook", "resume_webhook",
            "redeliver_webhook", "count_redelivery",
        ],
        "carillon_app": [
            "submit", "submit_activity", "submit_media", "audience", "cancel", "cancel_messages", "cancel_found",
            "cancel_broadcast",
            "broadcast_progress", "broadcast_zones", "forget",
            "register_token", "unregister_token", "requeue_failures", "message_status", "message_jobs", "trace",
            "apps_of_caller",
            "request_channel", "record_channel", "channel", "remove_channel", "submit_publication", "push",
            "push_each", "subscribe", "unsubscribe", "take_events", "peek_events", "acknowledge_events",
        ],
        "carillon_tenant": [
            "apps_of_caller", "audience", "broadcast_progress", "broadcast_zones", "cancel_messages", "cancel_found",
            "channel",
            "forget", "message_jobs",
            "message_status",
            "record_channel", "remove_channel", "request_channel", "requeue_failures", "submit", "submit_activity",
            "submit_media", "submit_publication", "trace", "unregister_token", "push", "push_each", "subscribe",
            "unsubscribe",
            "take_events", "peek_events", "acknowledge_events",
        ],
        "carillon_worker": [
            "maintain_step", "default_partition_rows", "queue_depth", "scheduled_depth", "next_due", "find_cancelled",
            "as_reaper", "apps_of_caller", "record_on_behalf", "here", "installation_state", "claim_webhooks",
            "webhook_batch", "settle_webhook", "seconds_to_webhook", "untaken_depth", "store_metrics",
        ],
    ]

    private static func rights(_ verb: String, on relations: String) -> Set<String> {
        Set(relations.split(separator: " ").map { "\(verb) \($0)" })
    }

    @Test(arguments: ["carillon_reader", "carillon_operator", "carillon_app", "carillon_tenant", "carillon_worker"])
    func `S2: each role is refused what it is not meant to do`(_ role: String) async throws {
        // Without an isolated role, tenants may not use the schema at all, and every statement would be refused for that.
        let tenant = "tenant_\(scene.database)"
        try await scene.client.run("CREATE ROLE \(tenant); SELECT carillon.isolate_app('\(Scene.app)', '\(tenant)')")
        let columns = try await scene.client.query(
            """
            SELECT c.relname::text, a.attname::text, c.relkind = 'v' FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p', 'v')
            ORDER BY 1, a.attnum
            """
        ) { rows in
            try rows.indices.map { row in
                Column(relation: try rows.string(row, 0), name: try rows.string(row, 1), isView: try rows.bool(row, 2))
            }
        }
        #expect(columns.count > 100)
        let calls = try await scene.client.query(
            """
            SELECT p.proname::text, format('carillon.%I(%s)', p.proname, (
                SELECT string_agg('NULL::' || replace(format_type(t.type, NULL), 'anycompatiblearray', 'text[]'), ', '
                    ORDER BY t.place)
                FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY t (type, place)))
            FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef
            """
        ) { rows in try rows.indices.map { (try rows.string($0, 0), try rows.string($0, 1)) } }
        var forbidden = Self.statements(columns, for: role)
        let allowed = Self.mayCall[role, default: []].union(["installation_fault"])
        forbidden += calls.filter { !allowed.contains($0.0) }.map { "SELECT \($0.1)" }
        try await scene.client.session { session async throws in
            try await session.script("SET ROLE \(role)")
            for statement in forbidden {
                let error = await #expect(throws: PostgresError.self, "\(role) may \(statement)") {
                    try await session.script(statement)
                }
                #expect(
                    error?.sqlState == "42501" && error?.message.contains("for schema carillon") == false,
                    "\(role): \(statement): \(error?.message ?? "")"
                )
            }
        }
    }

    /// Everything that the role must not do. None of it would have an effect if it were allowed.
    private static func statements(_ columns: [Column], for role: String) -> [String] {
        let mayWrite = Self.mayWrite[role, default: []]
        let mayNotRead = Self.mayNotRead[role, default: []]
        func isRight(_ verb: String, _ column: Column) -> Bool {
            mayWrite.contains("\(verb) \(column.relation)")
                || mayWrite.contains("\(verb) \(column.relation).\(column.name)")
        }
        var statements: [String] = []
        for column in columns {
            let table = "carillon.\(column.relation)"
            if mayNotRead.contains(column.relation) || mayNotRead.contains("\(column.relation).\(column.name)") {
                statements.append("SELECT \(column.name) FROM \(table) LIMIT 0")
            }
            if column.isView { continue }
            if !isRight("insert", column) {
                statements.append("INSERT INTO \(table) (\(column.name)) SELECT NULL WHERE false")
            }
            if !isRight("update", column) {
                statements.append("UPDATE \(table) SET \(column.name) = NULL WHERE false")
            }
        }
        for table in Set(columns.filter { !$0.isView }.map(\.relation)) {
            if !mayWrite.contains("delete \(table)") { statements.append("DELETE FROM carillon.\(table) WHERE false") }
            statements += [
                "TRUNCATE carillon.\(table)", "DROP TABLE carillon.\(table)",
                "ALTER TABLE carillon.\(table) ADD mine text",
                "CREATE TRIGGER mine BEFORE INSERT ON carillon.\(table) EXECUTE FUNCTION carillon.app_changed()",
            ]
        }
        return statements
    }

    @Test func `S3: temporary tables, and functions earlier in the search path, are never used`() async throws {
        let message = try await scene.client.number("carillon.enqueue('board', '{aa}', 'x')")
        let tokens = "ARRAY(SELECT lpad(to_hex(n), 8, '0') FROM generate_series(1, 2500) n)"
        let broadcast = try await scene.client.number("carillon.enqueue('board', \(tokens), 'x')")
        try await scene.client.session { session async throws in
            try await session.script(Self.traps)
            for (role, calls) in [
                (
                    "carillon_app",
                    [
                        "cancel(\(message))", "broadcast_progress(\(broadcast))", "cancel_broadcast(\(broadcast))",
                        "register_token('board', 'ab', 'me')", "enqueue('board', '{bb}', 'y')",
                        "trace('board', 'me')", "trace('board', message_id => \(message))",
                        "push('board', '{bb}', 'y', 1, NULL)", #"push('board', '{bb}', '{"aps":{"alert":"y"}}')"#,
                        #"push_each('board', '{bb}', ARRAY['{"aps":{"alert":"y"}}'])"#,
                        "cancel(reference => 'nothing')", "cancel(owner => 'nobody')", "forget('board', 'nobody')",
                    ]
                ),
                (
                    "carillon_worker",
                    ["maintain_step('make', 'results')", "default_partition_rows()", "queue_depth(1)", "reap()"]
                ),
                ("carillon_reader", ["broadcast_progress(\(broadcast))", "queue_depth(1)"]),
            ] {
                try await session.script("SET ROLE \(role)")
                for call in calls {
                    try await session.script(
                        "SET search_path = pg_temp, evil, pg_catalog; SELECT carillon.\(call); RESET search_path"
                    )
                }
                try await session.script("RESET ROLE")
            }
        }
        #expect(try await scene.client.text("SELECT string_agg(DISTINCT s.trap, ', ') FROM evil.stolen s") == "")
        // All calls used the right objects.
        #expect(
            try await scene.client.text(
                "SELECT (count(*), sum(r.cancelled)) FROM carillon.results r WHERE r.message_id >= \(message)"
            ) == "(4,2501)"
        )
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.messages") == 4)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.tokens") == 1)
    }

    /// Objects that a SECURITY DEFINER function could take for its own. Each records who has used it.
    private static let traps = """
        CREATE SCHEMA evil;
        CREATE TABLE evil.stolen (trap text, victim text);
        GRANT USAGE ON SCHEMA evil TO PUBLIC;
        GRANT INSERT ON evil.stolen TO PUBLIC;
        CREATE FUNCTION evil.spring() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO evil.stolen VALUES (TG_TABLE_NAME, current_user);
            RETURN coalesce(NEW, OLD);
        END $$;
        CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES ('now', current_user); RETURN pg_catalog.now(); END $$;
        CREATE FUNCTION evil.cardinality(text[]) RETURNS int LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES ('cardinality', current_user); RETURN 0; END $$;
        CREATE FUNCTION evil.format(text, text) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES ('format', current_user); RETURN 'SELECT 1'; END $$;
        CREATE FUNCTION evil.to_regclass(text) RETURNS regclass LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES ('to_regclass', current_user); RETURN NULL; END $$;
        CREATE FUNCTION evil.same(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES ('=', current_user); RETURN true; END $$;
        CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE OPERATOR evil.<= (FUNCTION = evil.same, LEFTARG = bigint, RIGHTARG = bigint);
        DO $$
        DECLARE
            name text;
        BEGIN
            FOR name IN SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            LOOP
                EXECUTE format('CREATE TEMP TABLE %I (LIKE carillon.%I)', name, name);
                EXECUTE format('GRANT ALL ON pg_temp.%I TO PUBLIC', name);
                EXECUTE format('CREATE TRIGGER trap BEFORE INSERT OR UPDATE OR DELETE ON pg_temp.%I '
                    || 'FOR EACH STATEMENT EXECUTE FUNCTION evil.spring()', name);
            END LOOP;
        END $$;
        """
}
