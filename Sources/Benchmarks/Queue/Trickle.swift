import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// Rows of one token, each in its own transaction, and the time of each commit.
struct Trickle: Sendable {
    struct Commit: Sendable {
        let token: String
        /// When the client received the answer, in milliseconds since 1970.
        let time: Double
    }

    /// Tokens of other rows do not begin with this.
    static let prefix = "5e"

    private let connections: [PostgresConnection]
    private let loop: EventLoop

    init(into installation: Installation, connections count: Int) async throws {
        var opened: [PostgresConnection] = []
        for _ in 0..<count {
            opened.append(
                try await PostgresConnection.connect(
                    DatabaseSource(installation.url),
                    on: installation.loop,
                    application: "an application"
                )
            )
        }
        connections = opened
        loop = installation.loop
    }

    func close() async {
        for connection in connections { await connection.close() }
    }

    static let insert = Statement(
        "insert",
        "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES ($1, ARRAY[$2], $3::text::json)"
    )

    static let enqueue = Statement(
        "enqueue",
        "SELECT carillon.enqueue(a.name, ARRAY[$2], payload => $3) FROM carillon.apps a WHERE a.id = $1"
    )

    func commit(_ number: Int, of app: Int32, by statement: Statement = Self.insert) async throws -> Commit {
        let digits = String(app, radix: 16) + "f" + String(number, radix: 16)
        let token = Self.prefix + String(repeating: "0", count: 64 - Self.prefix.count - digits.count) + digits
        let parameters = Parameters(app, token, Installation.payload)
        try await connections[Int(app) % connections.count].execute(statement, parameters)
        return Commit(token: token, time: Double(WallClock.microseconds) / 1000)
    }

    /// Sends a row in each interval until the task is cancelled, at a random phase for each app.
    /// - Parameter first: The number of its first row.
    func run(of app: Int32, from first: Int = 0, every interval: Duration = .seconds(1)) async throws -> [Commit] {
        var commits: [Commit] = []
        var due = MonotonicInstant.now + interval * Double.random(in: 0..<1)
        while (try? await loop.sleep(until: due)) != nil {
            commits.append(try await commit(first + commits.count, of: app))
            due = due + interval
        }
        return commits
    }

    /// Milliseconds from each commit to its arrival at the simulator, within ten seconds from now.
    static func latencies(of commits: [Commit], at installation: Installation) async throws -> Sample {
        let giveUp = MonotonicInstant.now + .seconds(10)
        while true {
            var arrivals: [String: Int64] = [:]
            for delivery in await installation.simulated.simulator.receivedRequests()
            where arrivals[delivery.token] == nil {
                arrivals[delivery.token] = delivery.time
            }
            let latencies = commits.compactMap { commit in
                // Arrivals are whole milliseconds, rounded down; a push may arrive before its client learns of the commit.
                arrivals[commit.token].map { max(0, Double($0) + 0.5 - commit.time) }
            }
            if latencies.count == commits.count { return Sample(latencies) }
            if .now > giveUp { throw BenchmarkError("\(commits.count - latencies.count) rows have not arrived.") }
            try await installation.loop.sleep(for: .milliseconds(100))
        }
    }
}
