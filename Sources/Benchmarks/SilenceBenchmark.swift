import IO
import Postgres
import Simulator

/// The gateway of one app answers for a while, and then takes every push and answers none: what another app keeps of its
/// rate meanwhile, through the limit for answers and the tries after that.
struct SilenceBenchmark {
    let rows: Int
    private let answeredRows = 10_000
    private let silentRows = 50_000
    private static let silentPrefix = "5f"

    func run(into report: inout Report) async throws {
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.answers = [try AnswerRule(prefix: Self.silentPrefix, action: .silence)]
        let silent = try APNsSimulator(configuration)
        try await silent.start()
        do {
            try await Installation.with { installation in
                try await installation.fill(self.rows)
                let worker = try CommandProcess(serving: installation.url, once: false)
                do {
                    try await self.measure(installation, beside: silent, into: &report)
                    // Drained it would wait for answers that do not come.
                    worker.kill()
                } catch {
                    worker.kill()
                    throw error
                }
            }
        } catch {
            await silent.stop()
            throw error
        }
        await silent.stop()
    }

    private func measure(
        _ installation: Installation,
        beside silent: APNsSimulator,
        into report: inout Report
    ) async throws {
        _ = try await installation.arrival(of: self.rows / 20)
        let before = try await installation.rate(of: self.rows / 8)
        let app = try await self.addApp(in: installation, sendingTo: silent)
        let giveUp = MonotonicInstant.now + .seconds(30)
        while await silent.statistics().requests <= self.answeredRows {
            guard .now < giveUp else { throw BenchmarkError("The silent gateway got too few requests.") }
            try await installation.loop.sleep(for: .milliseconds(10))
        }
        let start = MonotonicInstant.now
        let beside = try await installation.rate(of: self.rows / 2)
        let seconds = (MonotonicInstant.now - start) / .seconds(1)
        let unknown = try await installation.number(
            """
            (SELECT count(*) FROM carillon.scheduled s WHERE s.app_id = \(app) AND s.attempt > 1)
                + (SELECT count(*) FROM carillon.messages m WHERE m.app_id = \(app) AND m.attempt > 1)
            """
        )
        try await installation.connection.script("UPDATE carillon.apps SET paused = true WHERE id = \(app)")
        let after = try await installation.rate(of: self.rows / 8)
        guard seconds > 11, unknown > 0 else {
            throw BenchmarkError("\(Int(seconds)) s went by and \(unknown) unknown outcomes came: name more rows.")
        }
        let alone = (before + after) / 2
        report.note("rows a second of an app alone", Report.grouped(alone))
        report.ratio("  beside one whose gateway is silent / alone", beside / alone, atLeast: 0.8)
        report.note("  for \(Int(seconds)) s, and unknown outcomes meanwhile", Report.grouped(Double(unknown)))
    }

    /// An app like the first, with rows, whose gateway is that one.
    private func addApp(in installation: Installation, sendingTo silent: APNsSimulator) async throws -> Int {
        try await installation.connection.script(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
            SELECT 'silent', a.topic, a.certificate_id, '127.0.0.1:\(silent.port)', '\(silent.rootPEM)'
            FROM carillon.apps a WHERE a.id = \(installation.app);
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT s.id, ARRAY[CASE WHEN r <= \(self.answeredRows) THEN '5e' ELSE '\(Self.silentPrefix)' END
                || lpad(to_hex(r), 62, '0')], \(Installation.payloadLiteral)
            FROM carillon.apps s, generate_series(1, \(self.answeredRows + self.silentRows)) r WHERE s.name = 'silent'
            """
        )
        return try await installation.number("SELECT id FROM carillon.apps WHERE name = 'silent'")
    }
}
