import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// One app's gateway answers for a while, then accepts every push without answering. Measures how much of its rate another app
/// keeps while those pushes time out and are retried.
struct SilenceBenchmark {
    let rows: Int
    private var answeredRows: Int { rows / 200 }
    private var silentRows: Int { rows / 40 }
    /// How long the worker waits for an answer: 10 s at the usual size.
    private var timeout: Duration { .microseconds(5) * rows }
    private static let silentPrefix = "5f"

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let silence = try AnswerRule(prefix: Self.silentPrefix, action: .silence)
            try await SimulatedGateway.with(installation.simulated.team, simulator: { $0.answers = [silence] }) {
                silent in
                try await installation.fill(rows + Installation.spareRows)
                let app = try await installation.addApps(1, gateway: silent)[0]
                let options = ["--request-timeout", "\(Int(timeout / .milliseconds(1)))ms"]
                // A drain would wait for answers that never come.
                try await installation.withWorkers(1, options, drains: false) { _ in
                    try await measure(installation, app, of: silent.simulator, into: &report)
                }
            }
        }
    }

    private func measure(
        _ installation: Installation,
        _ app: Int32,
        of silent: APNsSimulator,
        into report: inout Report
    ) async throws {
        _ = try await installation.arrival(of: rows / 20)
        var (beside, seconds, unknown) = (0.0, 0.0, 0)
        let alone = try await installation.rateAlone(of: rows / 8) {
            try await fill(installation, app)
            let giveUp = MonotonicInstant.now + .seconds(30)
            while await silent.statistics().requests <= answeredRows {
                guard .now < giveUp else { throw BenchmarkError("The silent gateway got too few requests.") }
                try await installation.loop.sleep(for: .milliseconds(10))
            }
            let start = (pushes: await installation.delivered(), at: MonotonicInstant.now)
            // Measure until the first pushes have timed out, plus a second to record that.
            let end = start.at + timeout + .seconds(1)
            _ = try await installation.arrival(of: start.pushes + rows / 2)
            if end > .now { try await installation.loop.sleep(until: end) }
            beside = try await installation.rate(from: start, to: 0)
            seconds = start.at.age
            unknown = try await installation.number(
                """
                (SELECT count(*) FROM carillon.scheduled s WHERE s.app_id = \(app) AND s.attempt > 1)
                    + (SELECT count(*) FROM carillon.messages m WHERE m.app_id = \(app) AND m.attempt > 1)
                """
            )
            try await installation.connection.script("UPDATE carillon.apps SET paused = true WHERE id = \(app)")
        }
        guard unknown > 0 else { throw BenchmarkError("No outcome was unknown after \(seconds) s.") }
        report.add("rows a second of an app alone", alone, .rate)
        report.add("  rate beside one whose gateway is silent / alone", beside / alone, .ratio, .atLeast(0.8))
        report.add("  for so many seconds", seconds, .seconds)
        report.add("  unknown outcomes meanwhile", Double(unknown), .count)
    }

    /// Fills in the rows of the silent app, beginning with those that are answered.
    private func fill(_ installation: Installation, _ app: Int32) async throws {
        try await installation.connection.script(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT \(app), ARRAY[CASE WHEN r <= \(answeredRows) THEN '5e' ELSE '\(Self.silentPrefix)' END
                || lpad(to_hex(r), 62, '0')], \(Installation.payloadLiteral)
            FROM generate_series(1, \(answeredRows + silentRows)) r
            """
        )
    }
}
