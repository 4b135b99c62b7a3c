import IO
import Postgres
import Simulator

/// The gateway of one app answers for a while, and then takes every push and answers none: what another app keeps of its
/// rate meanwhile, through the limit for answers and the tries after that.
struct SilenceBenchmark {
    let rows: Int
    private var answeredRows: Int { self.rows / 200 }
    private var silentRows: Int { self.rows / 40 }
    /// How long the worker waits for an answer: 10 s at the usual size, and less where what is measured is over sooner.
    private var limit: Duration { .microseconds(5) * self.rows }
    private static let silentPrefix = "5f"

    func run(into report: inout Report) async throws {
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.answers = [try AnswerRule(prefix: Self.silentPrefix, action: .silence)]
        let silent = try APNsSimulator(configuration)
        try await silent.start()
        do {
            try await Installation.with { installation in
                try await installation.fill(self.rows + Installation.spareRows)
                let app = try await self.addApp(in: installation, sendingTo: silent)
                let limit = ["--request-timeout", "\(Int(self.limit / .milliseconds(1)))ms"]
                let worker = try CommandProcess(serving: installation.url, once: false, limit)
                do {
                    try await self.measure(installation, app, of: silent, into: &report)
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
        _ app: Int,
        of silent: APNsSimulator,
        into report: inout Report
    ) async throws {
        _ = try await installation.arrival(of: self.rows / 20)
        let before = try await installation.rate(of: self.rows / 8)
        try await self.fill(installation, app)
        let giveUp = MonotonicInstant.now + .seconds(30)
        while await silent.statistics().requests <= self.answeredRows {
            guard .now < giveUp else { throw BenchmarkError("The silent gateway got too few requests.") }
            try await installation.loop.sleep(for: .milliseconds(10))
        }
        let start = (pushes: await installation.delivered(), at: MonotonicInstant.now)
        // Until the first pushes have waited for their answers in vain, and a second more to write that down.
        let end = start.at + self.limit + .seconds(1)
        _ = try await installation.arrival(of: start.pushes + self.rows / 2)
        if end > .now { try await installation.loop.sleep(until: end) }
        let beside = try await installation.rate(from: start, to: 0)
        let seconds = (MonotonicInstant.now - start.at) / .seconds(1)
        let unknown = try await installation.number(
            """
            (SELECT count(*) FROM carillon.scheduled s WHERE s.app_id = \(app) AND s.attempt > 1)
                + (SELECT count(*) FROM carillon.messages m WHERE m.app_id = \(app) AND m.attempt > 1)
            """
        )
        try await installation.connection.script("UPDATE carillon.apps SET paused = true WHERE id = \(app)")
        let after = try await installation.rate(of: self.rows / 8)
        guard unknown > 0 else {
            throw BenchmarkError("\(Report.decimals(seconds)) s went by without an unknown outcome.")
        }
        let alone = (before + after) / 2
        report.note("rows a second of an app alone", Report.grouped(alone))
        report.ratio("  beside one whose gateway is silent / alone", beside / alone, atLeast: 0.8)
        report.note("  for so many seconds", Report.decimals(seconds))
        report.note("  unknown outcomes meanwhile", Report.grouped(Double(unknown)))
    }

    /// An app like the first, whose gateway is that one.
    private func addApp(in installation: Installation, sendingTo silent: APNsSimulator) async throws -> Int {
        try await installation.connection.script(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
            SELECT 'silent', a.topic, a.certificate_id, '127.0.0.1:\(silent.port)', '\(silent.rootPEM)'
            FROM carillon.apps a WHERE a.id = \(installation.app)
            """
        )
        return try await installation.number("SELECT id FROM carillon.apps WHERE name = 'silent'")
    }

    /// Its rows: first those that are answered.
    private func fill(_ installation: Installation, _ app: Int) async throws {
        try await installation.connection.script(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT \(app), ARRAY[CASE WHEN r <= \(self.answeredRows) THEN '5e' ELSE '\(Self.silentPrefix)' END
                || lpad(to_hex(r), 62, '0')], \(Installation.payloadLiteral)
            FROM generate_series(1, \(self.answeredRows + self.silentRows)) r
            """
        )
    }
}
