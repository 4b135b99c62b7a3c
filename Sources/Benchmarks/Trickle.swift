import Glibc
import IO
import Postgres
import Simulator

/// Rows of one token, each in a transaction of its own, and when each of them was committed.
struct Trickle: Sendable {
    struct Commit: Sendable {
        let token: String
        /// Milliseconds since 1970, when the client had the answer.
        let time: Double
    }

    /// Tokens of no other row begin so.
    static let prefix = "5e"

    private let connections: [PostgresConnection]
    private let loop: EventLoop

    init(into database: String, connections: Int, on loop: EventLoop) async throws {
        var opened: [PostgresConnection] = []
        for _ in 0..<connections {
            opened.append(try await PostgresConnection.connect(database, on: loop, application: "an application"))
        }
        self.connections = opened
        self.loop = loop
    }

    func close() async {
        for connection in self.connections { await connection.close() }
    }

    private static let insert = Statement(
        "insert",
        "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES ($1, ARRAY[$2], $3::text::json)"
    )

    func commit(_ number: Int, of app: Int32) async throws -> Commit {
        let digits = String(app, radix: 16) + "f" + String(number, radix: 16)
        let token = Self.prefix + String(repeating: "0", count: 64 - Self.prefix.count - digits.count) + digits
        var parameters = Parameters()
        parameters.append(app)
        parameters.append(token)
        parameters.append(Installation.payload)
        try await self.connections[Int(app) % self.connections.count].execute(Self.insert, parameters)
        return Commit(token: token, time: Self.now)
    }

    /// A row a second, from a moment within the first second on that is the app's own, until the task is cancelled.
    func run(of app: Int32) async throws -> [Commit] {
        var commits: [Commit] = []
        var due = MonotonicInstant.now + .seconds(1) * Double.random(in: 0..<1)
        while (try? await self.loop.sleep(until: due)) != nil {
            commits.append(try await self.commit(commits.count, of: app))
            due = due + .seconds(1)
        }
        return commits
    }

    /// How long each took to the simulator, in milliseconds; nil as long as one has not arrived.
    static func latencies(of commits: [Commit], at installation: Installation) async -> [Double]? {
        var arrivals: [String: Int64] = [:]
        for delivery in await installation.simulator.deliveries() where delivery.token.hasPrefix(Self.prefix) {
            // A push that came twice was in time when it was the first time.
            if arrivals[delivery.token] == nil { arrivals[delivery.token] = delivery.time }
        }
        var latencies: [Double] = []
        for commit in commits {
            guard let arrival = arrivals[commit.token] else { return nil }
            // Arrivals are told in whole milliseconds, cut off; a push may also arrive before its client hears of the commit.
            latencies.append(max(0, Double(arrival) + 0.5 - commit.time))
        }
        return latencies
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
}
