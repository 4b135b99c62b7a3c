import CarillonIO
import CarillonPostgres

/// The connection of a `WebhookRunner`. It sends one statement at a time, so that PostgreSQL does not refuse those of all webhooks at
/// once, and one of a kind that was refused only as a try.
actor WebhookSession {
    private let connection: PostgresConnection
    private let tries: WebhookTries
    private let loop: EventLoop
    private var refusals = WebhookRefusals()
    private var isAsking = false
    private var waiting = Fifo<CheckedContinuation<Void, Never>>()
    private var random = SystemRandomNumberGenerator()

    init(_ connection: PostgresConnection, _ tries: WebhookTries, on loop: EventLoop) {
        self.connection = connection
        self.tries = tries
        self.loop = loop
    }

    /// - Parameter end: Until then, a statement that is refused for something else than what it is about is repeated.
    func values<Value: Decodable & Sendable>(
        of statement: Statement,
        _ parameters: Parameters = Parameters(),
        repeatedUntil end: MonotonicInstant = .now
    ) async throws -> [Value] {
        while true {
            let isTry = try await begin(statement.name)
            do {
                defer { ended() }
                let values: [Value] = try await connection.values(of: statement, parameters)
                refusals.succeeded(statement.name)
                return values
            } catch {
                guard error.isOfStatement else { throw error }
                refusals.refused(statement.name, at: .now, using: &random)
                if !isTry { await tries.spend() }
                if error.isOfContent || .now >= end { throw error }
            }
        }
    }

    /// Returns whether the statement is a try, when it is its turn.
    private func begin(_ name: String) async throws -> Bool {
        while true {
            if isAsking { await withCheckedContinuation { waiting.append($0) } }
            isAsking = true
            guard let next = refusals.next(name) else { return false }
            var wait = next - .now
            if wait <= .zero {
                guard let more = await tries.take() else { return true }
                wait = more
            }
            ended()
            try await loop.sleep(for: wait)
        }
    }

    /// The next one that waits has its turn.
    private func ended() {
        guard let next = waiting.popFirst() else { return isAsking = false }
        next.resume()
    }
}

extension PostgresError {
    /// PostgreSQL has refused it, and the connection may be used further.
    var isOfStatement: Bool {
        [.server, .unexpectedValue].contains(code) && !(sqlState.map(SQLState.unavailable.contains) ?? false)
    }

    /// It would fail again: for what it is about, or because it takes too long.
    var isOfContent: Bool { isRefusal || sqlState == SQLState.queryCanceled }
}
