import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonSchema

@Suite struct FindingTests {
    /// Pushes of the last hour, why some failed, and what follows.
    private static let hours: [(sent: Int, failed: Int, reason: String, severity: Finding.Severity?)] = [
        (0, 2, "Unregistered", nil), (0, 3, "Unregistered", .critical), (0, 1, "TopicDisallowed", .critical),
        (2, 4, "Unregistered", .warning), (4, 4, "TopicDisallowed", nil), (0, 0, "Unregistered", nil),
    ]

    @Test(.demo)
    func `an app is found if most of its pushes fail, unless they are one or two dead tokens`() async throws {
        for hour in Self.hours {
            try await database.run(
                """
                DELETE FROM carillon.push_counts;
                DELETE FROM carillon.failures;
                INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed)
                VALUES (date_trunc('minute', now()), 1, 7, \(hour.sent), \(hour.failed));
                INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (1, 1, 'aa', '\(hour.reason)')
                """
            )
            let findings = AppStatus.findings(of: try await AppStatus.all(from: database.connection))
            #expect(findings.map(\.severity) == [hour.severity].compactMap(\.self), "\(hour): \(findings)")
        }
    }

    private static let ready = "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')"

    private static func scheduled(_ time: String) -> String {
        "INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (7, 1, '{aa}', '{}', \(time))"
    }

    private static let silent = "now() - interval '50 seconds'"

    /// A worker whose last heartbeat was at that time.
    private static func worker(_ heartbeat: String, asleepSince: String = "NULL") -> String {
        """
        INSERT INTO carillon.workers (name, heartbeat_at, lease_until, asleep_since)
        VALUES ('w', \(heartbeat), \(heartbeat) + interval '1 minute', \(asleepSince))
        """
    }

    /// What is in the database, and what is found of its workers.
    private static let fleets: [(rows: [String], findings: [String])] = [
        ([], []), ([scheduled("now() + interval '1 hour'")], []),
        ([ready], ["critical: No worker is running, and jobs wait."]),
        ([scheduled("now() - interval '1 second'")], ["critical: No worker is running, and jobs wait."]),
        ([ready, scheduled("now()"), "UPDATE carillon.apps SET paused = true"], []),
        ([ready, worker("now()")], []), ([ready, worker("now()", asleepSince: "now()")], []),
        ([worker(silent)], ["warning: Worker w missed two heartbeats or more."]),
        ([ready, worker(silent), worker("now()")], ["warning: Worker w missed two heartbeats or more."]),
        (
            [ready, worker(silent)],
            [
                "critical: Jobs wait, and no worker is known to be alive.",
                "warning: Worker w missed two heartbeats or more.",
            ]
        ),
    ]

    @Test(.demo, arguments: ["carillon_reader", "carillon_worker"])
    func `jobs that wait while no worker is known to be alive are found`(_ role: String) async throws {
        for fleet in Self.fleets {
            try await database.run("BEGIN")
            for row in fleet.rows { try await database.run(row) }
            try await database.run("SET LOCAL ROLE \(role)")
            let findings = try await FleetReport(from: database.connection).findings
            try await database.run("ROLLBACK")
            #expect(findings.map { "\($0.severity): \($0.sentence)" } == fleet.findings, "\(fleet.rows)")
        }
    }

    @Test(.demo)
    func `with a limit only the first queues by name are read, and jobs of any app that are due`() async throws {
        try await database.run("INSERT INTO carillon.apps (id, name) VALUES (7, 'zebra')")
        func findings() async throws -> Int {
            try await FleetReport(maxApps: 1, from: database.connection).findings.count
        }
        try await database.run("INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (7, '{aa}', '{}')")
        #expect(try await findings() == 0)
        #expect(try await FleetReport(from: database.connection).findings.count == 1)
        try await database.run("UPDATE carillon.apps SET paused = true WHERE name = 'demo'")
        #expect(try await findings() == 1, "the first that is not paused")
        try await database.run("UPDATE carillon.apps SET paused = false")
        try await database.run(
            "INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (7, 7, '{aa}', '{}', now())"
        )
        #expect(try await findings() == 1)
    }

    @Test(.demo) func `of many jobs that are due only the first are read`() async throws {
        try await database.run(
            """
            UPDATE carillon.apps SET paused = true;
            INSERT INTO carillon.apps (name) VALUES ('idle');
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT n, 1, '{aa}', '{}', now() FROM generate_series(1, 3000) n
            """
        )
        try await database.run("BEGIN")
        #expect(try await FleetReport(from: database.connection).findings.isEmpty)
        let read = """
            SELECT s.seq_tup_read + s.idx_tup_fetch FROM pg_stat_xact_user_tables s
            WHERE s.relid = 'carillon.scheduled'::regclass
            """
        #expect(try await database.number(read) < 1_500)
        try await database.run("ROLLBACK")
    }

    /// How long something has kept vacuum from removing rows, and what is found.
    private static let horizons: [(seconds: Int64?, finding: String?)] = [
        (299, nil), (300, "it has prevented it for 5m."), (4_000, "it has prevented it for 1h 6m."),
        (nil, "it has prevented it."),
    ]

    @Test(.demo) func `what keeps vacuum from removing dead rows is found after five minutes`() async throws {
        #expect(try await HorizonHolder.find(from: database.connection) == nil)
        try await database.session { other in
            try await other.run("BEGIN")
            try await other.run("SELECT pg_current_xact_id()")
            let holder = try #require(try await HorizonHolder.find(from: database.connection))
            #expect(holder.what.hasPrefix("the transaction of process \(other.connection.backendProcessID)"))
            #expect(holder.seconds != nil && holder.finding == nil)
        }
        for horizon in Self.horizons {
            let finding = HorizonHolder(what: "it", transactions: 7, seconds: horizon.seconds).finding
            let beginning = "Vacuum cannot remove what the last 7 transactions deleted: "
            #expect(finding?.sentence == horizon.finding.map { beginning + $0 }, "\(horizon)")
        }
    }

    private static let day: Int64 = 86_400

    /// A credential, and what is found.
    private static let credentials: [(status: CredentialStatus, seconds: Int64?, isUsed: Bool, finding: String?)] = [
        (.ok, nil, true, nil), (.missing, nil, true, nil),
        (.expiring, 7 * day, true, "warning: Credential a b expires in 7 days."),
        (.expiring, 7 * day - 1, true, "critical: Credential a b expires in 6 days."),
        (.expired, -1, true, "critical: Credential a b has expired."),
        (.expired, -1, false, "warning: Credential a b has expired, and no app uses it."),
        (.rejected, 99 * day, true, "critical: Credential a b is rejected: why."),
        (.invalid, nil, true, "critical: Credential a b is invalid: why."),
    ]

    @Test func `a credential is found if pushes with it are refused, or soon will be`() {
        for credential in Self.credentials {
            let finding = credential.status
                .finding(of: "a b", expiresIn: credential.seconds, error: "why", isUsed: credential.isUsed)
            #expect(finding.map { "\($0.severity): \($0.sentence)" } == credential.finding)
            #expect(finding.map { $0.remedy.contains("'a b'") } != false)
        }
    }
}
