import FoundationEssentials
import TestSupport
import Testing

/// Each page has limits. What it did not read or count to the end is marked in its JSON.
@Suite(.shop) struct CutListTests {
    /// A member of a page.
    private enum Member: Decodable {
        case list
        case text(String)
        case other

        init(from decoder: any Decoder) throws {
            if (try? decoder.unkeyedContainer()) != nil {
                self = .list
            } else if let text = try? decoder.singleValueContainer().decode(String.self) {
                self = .text(text)
            } else {
                self = .other
            }
        }

        var text: String? { if case .text(let text) = self { text } else { nil } }
        var isList: Bool { if case .list = self { true } else { false } }
    }

    /// The members of each page that have a limit.
    private static let marked: [(path: String, members: [String])] = [
        (
            "/",
            [
                "findings", "sent_per_second", "failed_per_second", "retried_per_second", "ready", "scheduled",
                "in_flight", "oldest_age_seconds", "workers_alive", "counts", "apps",
            ]
        ),
        ("/apps", ["webhooks", "consumers"]),
        ("/apps/shop", ["failures", "webhooks", "consumers", "changes"]), ("/broadcasts", ["broadcasts"]),
        ("/tokens", ["registered", "reported_dead"]), ("/channels", ["channels", "unknown"]),
        ("/activities", ["activities"]), ("/workers", ["workers"]), ("/credentials", ["credentials"]),
        ("/test", ["apps"]), ("/failures?since=7d", ["groups", "failures"]), ("/scheduled?only=retries", ["jobs"]),
        ("/messages/1?app=shop", ["in_flight", "workers", "failures"]), ("/trace?q=1", ["found"]),
    ]

    /// Lists that need no mark on every page: they have a fixed length, are read completely, or are sentences.
    private static let whole = [
        "counts", "explanation", "unsearched", "maintenance_findings", "maintenance_failing", "default_partition_rows",
    ]

    /// The message 1 has 60 jobs, of which 30 have ended.
    private static let message = """
        SELECT carillon.enqueue('shop', ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, 60000) n), 'hi')
        """

    private static let rows = """
        INSERT INTO carillon.certificates (name, certificate) SELECT 'key ' || n, 'none' FROM generate_series(1, 600) n;
        INSERT INTO carillon.apps (name, topic, certificate_id)
        SELECT 'shop ' || lpad(c.id::text, 4, '0'), 'com.example.app' || c.id, c.id FROM carillon.certificates c
        WHERE c.certificate = 'none';
        INSERT INTO carillon.workers (id, name, lease_until)
        SELECT n, 'worker ' || n, now() + interval '1 hour' FROM generate_series(1, 600) n;
        WITH gone AS (DELETE FROM carillon.messages RETURNING *)
        INSERT INTO carillon.inflight (worker_id, app_id, jobs)
        SELECT g.id, g.app_id, ARRAY[json_populate_record(NULL::carillon.job, to_json(g))] FROM gone g;
        INSERT INTO carillon.results (message_id, app_id, broadcast_id, failed, worker_id)
        SELECT n, 1, 1, 1000, n FROM generate_series(1, 60) n;
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at, broadcast_id)
        SELECT 1, 1, lpad(to_hex(n), 64, '0'), 400, 'Reason' || n % 30, now() - n * interval '1 second', 1
        FROM generate_series(1, 300) n;
        INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens)
        SELECT 1, n * 100, n * 100 + 1, 1, 2, 1001 FROM generate_series(1, 30) n;
        INSERT INTO carillon.channels (app_id, reference, policy) SELECT a.id, 'match', 0 FROM carillon.apps a;
        INSERT INTO carillon.unknown_channels (app_id, channel_id) SELECT a.id, 'aGk=' FROM carillon.apps a;
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason)
        SELECT a.id, 'aa', now(), 'Unregistered' FROM carillon.apps a;
        INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
        SELECT a.id, 'bb', 'live_activity', now() + interval '8 hours' FROM carillon.apps a;
        INSERT INTO carillon.scheduled (app_id, id, tokens, payload, run_at)
        SELECT 1, 10000 + n, '{aa}', '{}', now() + interval '1 hour' FROM generate_series(1, 6000) n;
        SELECT carillon.add_webhook('hook ' || n, 'shop', 'https://a.example/') FROM generate_series(1, 25) n;
        SELECT carillon.subscribe('shop', 'consumer ' || n) FROM generate_series(1, 25) n;
        DO $$ BEGIN FOR n IN 1..12 LOOP UPDATE carillon.apps SET max_attempts = n WHERE id = 1; END LOOP; END $$
        """

    @Test func `each list and each number of a page says whether it goes beyond a limit`() async throws {
        try await shop.database.run(Self.message)
        try await DashboardClient.with(shop.database.url, in: shop.folder, ["--local-changes"]) { client, _ in
            try await Self.expect("exact", client)
            try await shop.database.run(Self.rows)
            try await Self.expect("at least", client)
            for path in DashboardClient.pages + Self.marked.map(\.path) {
                let members = try await Self.members(of: path, client)
                let hasNext = ["older", "later", "more"].contains { members[$0]?.text != nil }
                for (name, member) in members where member.isList && !Self.whole.contains(name) {
                    #expect(hasNext || members[name + "_precision"] != nil, "\(path): \(name)")
                }
            }
        }
    }

    private static func expect(_ precision: String, _ client: DashboardClient) async throws {
        for (path, names) in marked {
            let members = try await members(of: path, client)
            for name in names {
                #expect(members[name] != nil && members[name + "_precision"]?.text == precision, "\(path): \(name)")
            }
        }
    }

    private static func members(of path: String, _ client: DashboardClient) async throws -> [String: Member] {
        let page = await client.get(path, json: true)
        #expect(page.status == "200", "\(path): \(page.body)")
        return try JSONDecoder().decode([String: Member].self, from: Data(page.body.utf8))
    }
}
