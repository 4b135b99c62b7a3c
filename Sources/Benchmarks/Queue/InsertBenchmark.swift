import CarillonPostgres

/// The cost to an application of inserting one row, compared with a bare table of the same columns. One session with the
/// applications' role picks the table at random for each row. It does not wait for the disk, which would hide the difference.
struct InsertBenchmark {
    let seconds: Int

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            try await installation.connection.script(
                """
                CREATE TABLE bare (LIKE carillon.messages INCLUDING DEFAULTS INCLUDING IDENTITY);
                ALTER TABLE bare ADD PRIMARY KEY (id);
                GRANT INSERT ON bare TO carillon_app
                """
            )
            let token = String(repeating: "a1", count: 32)
            let inserts = ["bare", "carillon.messages"].map { table in
                """
                INSERT INTO \(table) (app_id, tokens, payload)
                VALUES (\(installation.app), ARRAY['\(token)'], \(Installation.payloadLiteral));

                """
            }
            let enqueue = """
                SELECT carillon.enqueue('bench', ARRAY['\(token)'], alert =>
                    '{"title":"Carillon","body":"Twelve, and all is well."}'::jsonb, badge => 1, sound => 'default');

                """
            let bench = try PGBench(
                inserts + [enqueue],
                on: installation.url,
                settings: [("role", "carillon_app"), ("synchronous_commit", "off")]
            )
            let times = try await bench.times(seconds: seconds).map { Sample($0).middle }
            for (name, time) in zip(["into a bare table", "into carillon.messages", "by carillon.enqueue"], times) {
                report.add("one row \(name)", time, .microseconds)
            }
            report.add("  time into carillon.messages / into a bare table", times[1] / times[0], .ratio, .atMost(1.05))
            report.add("  time by carillon.enqueue / into a bare table", times[2] / times[0], .ratio)
        }
    }
}
