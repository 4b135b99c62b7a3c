import FoundationEssentials
import TestSupport
import Testing

/// The workers and maintenance, as programs read them.
@Suite(.shop) struct WorkersPageTests {
    private struct Fleet: Decodable {
        let workers: [[String: Value]]
        var maintenance_findings: [[String: Value]]?
        var maintenance_failing: [[String: Value]]?
        var default_partition_rows: [[String: Value]]?
        var oldest_transaction_seconds: Int?
    }

    private enum Value: Decodable, Equatable {
        case nothing
        case truth(Bool)
        case number(Int)
        case text(String)

        var text: String? { if case .text(let text) = self { text } else { nil } }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .nothing
            } else if let value = try? container.decode(Bool.self) {
                self = .truth(value)
            } else if let value = try? container.decode(Int.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    private static let rows = """
        INSERT INTO carillon.workers (id, name, host, pid, version, started_at, heartbeat_at, lease_until, connections)
        VALUES (7, 'patient', 'h', 12, '1.2', now() - interval '1 hour', now() - interval '200 seconds', now() - interval '80 seconds', 3),
            (8, 'new', NULL, NULL, NULL, now(), now(), now() + interval '1 hour', NULL);
        INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent) VALUES (date_trunc('minute', now()), 1, 7, 5);
        UPDATE carillon.maintenance SET last_failure = now() + interval '1 second', last_error = 'no space'
        WHERE (action, target) = ('make', 'results');
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
        VALUES (1, 1, 'aa', 400, 'BadTopic', now() - interval '400 days')
        """

    @Test func `each member of a worker and of maintenance has its name and its value`() async throws {
        try await shop.database.run(Self.rows)
        let shared: [String: Value] = [
            "id": .number(7), "name": .text("patient"), "host": .text("h"), "pid": .number(12),
            "version": .text("1.2"), "lease_seconds": .number(120), "state": .text("silent"),
            "alive": .truth(false), "claims": .number(0), "asleep_since": .nothing,
        ]
        let ages = ["age_seconds", "silence_seconds"]
        let status = try JSONDecoder().decode(
            Fleet.self,
            from: Data(try await shop.run("status", "--json").output.utf8)
        )
        #expect(status.workers.first?.filter { !ages.contains($0.key) } == shared, "\(status.workers)")
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = await client.get("/workers", json: true).body
            let fleet = try JSONDecoder().decode(Fleet.self, from: Data(page.utf8))
            let own: [String: Value] = ["connections": .number(3), "sent_last_minute": .number(5)]
            let first = try #require(fleet.workers.first)
            #expect(
                first.filter { !(ages + ["started_at"]).contains($0.key) }
                    == shared.merging(own) { one, _ in one },
                "\(page)"
            )
            for name in ages + ["started_at"] { #expect(first[name] != nil && first[name] != .nothing, "\(name)") }
            let second = try #require(fleet.workers.last)
            #expect(second["host"] == .nothing && second["connections"] == .nothing && second["alive"] == .truth(true))
            #expect(fleet.maintenance_failing == [["step": .text("make results"), "error": .text("no space")]])
            #expect(
                fleet.default_partition_rows == [
                    ["table": .text("failures"), "rows": .number(1), "rows_precision": .text("exact")]
                ]
            )
            #expect(page.contains("\"oldest_transaction_seconds\":"))
        }
    }

    @Test func `the page and its JSON have the same findings about maintenance`() async throws {
        try await shop.database.run(
            """
            \(Self.rows);
            UPDATE carillon.maintenance SET last_success = now() - interval '4 days 30 minutes'
            WHERE (action, target) <> ('make', 'results')
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let json = await client.get("/workers", json: true).body
            let fleet = try JSONDecoder().decode(Fleet.self, from: Data(json.utf8))
            let findings = try #require(fleet.maintenance_findings, "\(json)")
            let sentences = findings.map { $0["sentence"]?.text ?? "" }
            #expect(
                sentences == [
                    "The maintenance step 'make results' fails: no space.",
                    "1 row of carillon.failures lies in its default partition, because no partition existed for its day.",
                    "Maintenance last ran 4d ago.",
                ]
            )
            let page = try DashboardClient.read(await client.get("/workers"), "/workers").text
            for (finding, sentence) in zip(findings, sentences) {
                let remedy = try #require(finding["remedy"]?.text)
                #expect(page.contains(sentence + " " + remedy), "\(page)")
                #expect(finding["severity"] == .text("warning") && finding["see"] == .text("/workers"))
            }
        }
    }

    @Test func `the latency leaves out what a silent worker has noted, though its lease lasts`() async throws {
        try await shop.database.run(
            """
            \(Self.rows);
            UPDATE carillon.workers SET waits = ARRAY[id], answers = '{1}';
            UPDATE carillon.workers SET heartbeat_at = now() - interval '400 seconds', lease_until = now() + interval '200 seconds'
            WHERE id = 7
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = await client.get("/", json: true).body
            #expect(page.contains("\"wait_seconds\":{\"count\":8,"), "\(page)")
            #expect(page.contains("\"answer_seconds\":{\"count\":1,"), "\(page)")
        }
    }
}
