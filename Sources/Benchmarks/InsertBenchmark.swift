import Postgres

/// What an application pays for its own INSERT of one row, beside a bare table of the same columns: by one session of the
/// role that applications have, which draws lots for each row. It does not wait for the disk, which would hide the rest.
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
            try await self.compare(on: installation, into: &report)
        }
    }

    private func compare(on installation: Installation, into report: inout Report) async throws {
        func insert(into table: String) -> String {
            """
            INSERT INTO \(table) (app_id, tokens, payload)
            VALUES (\(installation.app), ARRAY['\(String(repeating: "a1", count: 32))'], \(Installation.payloadLiteral));

            """
        }
        let enqueue = """
            SELECT carillon.enqueue('bench', ARRAY['\(String(repeating: "a1", count: 32))'], alert =>
                '{"title":"Carillon","body":"Twelve, and all is well."}'::jsonb, badge => 1, sound => 'default');

            """
        let bench = try PGBench(
            [insert(into: "bare"), insert(into: "carillon.messages"), enqueue],
            on: installation.url,
            settings: [("role", "carillon_app"), ("synchronous_commit", "off")]
        )
        let times = try await bench.times(seconds: self.seconds).map { Sample($0).middle }
        for (name, time) in zip(["into a bare table", "into carillon.messages", "by carillon.enqueue"], times) {
            report.note("one row \(name)", "\(Report.decimals(time)) µs")
        }
        report.ratio("  carillon.messages / a bare table", times[1] / times[0], atMost: 1.05)
    }
}
