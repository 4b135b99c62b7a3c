import CarillonPostgres

/// The server's processor time for a message that is enqueued by a function, compared with an `INSERT` of the same row. One
/// session with the applications' role makes all calls of a round in turn, each in a transaction of its own.
struct EnqueueBenchmark {
    /// Calls of each kind in each round.
    let calls: Int

    /// Many short ones, because other work on the machine changes its speed.
    private static let rounds = 30
    /// Rows of one call in bulk.
    private var rows: Int { calls * 20 }

    private struct Call {
        let name: String
        let sql: String
        /// Whether PostgreSQL parses and plans it once, and not each time.
        var isPrepared = true
        /// What it may cost, as a multiple of the call that it is compared with.
        var bound: Double?
    }

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let session = try await PostgresConnection.connect(
                DatabaseSource(installation.url),
                on: installation.loop,
                application: "an application",
                settings: ["role": "carillon_app", "synchronous_commit": "off"]
            )
            try await compareSingle(installation, session, into: &report)
            try await compareBulk(installation, session, into: &report)
            await session.close()
        }
    }

    private func compareSingle(
        _ installation: Installation,
        _ session: PostgresConnection,
        into report: inout Report
    ) async throws {
        let tokens = "ARRAY['\(String(repeating: "a1", count: 32))']"
        let payload = #"'{"aps":{"alert":"Twelve, and all is well.","badge":1,"sound":"default"}}'"#
        let bare =
            "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (\(installation.app), \(tokens), \(payload))"
        // Each with its bounds, prepared and not.
        let others: [(name: String, sql: String, bounds: (Double, Double))] = [
            (
                "enqueue with alert, badge and sound",
                "enqueue('bench', \(tokens), alert => 'Twelve, and all is well.', badge => 1, sound => 'default')",
                (1.8, 2.1)
            ),
            (
                "enqueue with title and body",
                "enqueue('bench', \(tokens), title => 'Carillon', body => 'Twelve, and all is well.')", (1.8, 2.1)
            ),
            (
                "push with alert, badge and sound",
                "push('bench', \(tokens), 'Twelve, and all is well.', 1, 'default')", (1.6, 1.2)
            ),
            ("push with a payload", "push('bench', \(tokens), \(payload))", (1.6, 1.2)),
        ]
        for isPrepared in [true, false] {
            let suffix = isPrepared ? ", prepared" : ", unprepared"
            let calls = others.map { name, sql, bounds in
                Call(
                    name: name + suffix,
                    sql: "SELECT carillon." + sql,
                    isPrepared: isPrepared,
                    bound: isPrepared ? bounds.0 : bounds.1
                )
            }
            let insert = Call(name: "a bare INSERT" + suffix, sql: bare, isPrepared: isPrepared)
            try await compare(calls, with: insert, times: self.calls, installation, session, into: &report)
        }
    }

    /// Thousands of messages in one statement, from a table.
    private func compareBulk(
        _ installation: Installation,
        _ session: PostgresConnection,
        into report: inout Report
    ) async throws {
        try await installation.connection.script(
            """
            CREATE TABLE users AS SELECT lpad(to_hex(n), 64, '0') AS token, p.payload AS text, p.payload::json AS json,
                p.payload::jsonb AS jsonb
            FROM generate_series(1, \(rows)) n CROSS JOIN LATERAL (
                SELECT replace(\(Installation.payloadLiteral), '"badge":1', '"badge":' || n) AS payload) p;
            GRANT SELECT ON users TO carillon_app;
            ANALYZE users
            """
        )
        let insert = Call(
            name: "INSERT … SELECT, a row",
            sql: """
                INSERT INTO carillon.messages (app_id, tokens, payload)
                SELECT \(installation.app), ARRAY[token], json FROM users
                """
        )
        let others = ["json", "text", "jsonb"].map { type in
            Call(
                name: "push_each with \(type)[], a row",
                sql: "SELECT carillon.push_each('bench', array_agg(token), array_agg(\(type))) FROM users",
                bound: type == "jsonb" ? nil : 2
            )
        }
        try await compare(others, with: insert, times: 1, rows: rows, installation, session, into: &report)
    }

    /// Reports the medians of all rounds: of the time a row, and of the ratio to the first call's time in the same round.
    private func compare(
        _ others: [Call],
        with first: Call,
        times count: Int,
        rows: Int = 1,
        _ installation: Installation,
        _ session: PostgresConnection,
        into report: inout Report
    ) async throws {
        let calls = [first] + others
        var times: [[Double]] = calls.map { _ in [] }
        for _ in 0..<Self.rounds {
            try await installation.connection.script("TRUNCATE carillon.messages")
            for (index, call) in calls.enumerated() {
                times[index].append(try await time(of: call, count, in: session) / Double(rows))
            }
        }
        for (index, call) in calls.enumerated() {
            report.add(call.name, Sample(times[index]).median, .microseconds)
            guard index > 0 else { continue }
            let ratios = Sample(zip(times[index], times[0]).map { $0 / $1 })
            report.add("  its time / that of \(first.name)", ratios.median, .ratio, call.bound.map { .atMost($0) })
        }
    }

    /// The processor time of one call, in microseconds. One call before them prepares it, and finds what `TRUNCATE` has changed.
    private func time(of call: Call, _ count: Int, in session: PostgresConnection) async throws -> Double {
        try await run(call, 1, in: session)
        let start = try Self.processorTime(of: session)
        try await run(call, count, in: session)
        let time = try Self.processorTime(of: session) - start
        guard time > .zero else { throw BenchmarkError("The kernel counts no time of \(count) calls: name more.") }
        return time / .microseconds(1) / Double(count)
    }

    private func run(_ call: Call, _ count: Int, in session: PostgresConnection) async throws {
        let statement = Statement(call.name, call.sql)
        for _ in 0..<count {
            if call.isPrepared {
                try await session.execute(statement)
            } else {
                try await session.script(call.sql)
            }
        }
    }

    private static func processorTime(of session: PostgresConnection) throws -> Duration {
        guard let reading = ProcessReading(session.backendProcessID) else {
            throw BenchmarkError("The session has ended.")
        }
        return reading.firstThreadTime
    }
}
