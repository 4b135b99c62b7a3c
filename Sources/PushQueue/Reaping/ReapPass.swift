package import CarillonIO
package import CarillonPostgres

/// A feedback pass deletes dead tokens in batches, each in a short transaction of its own. It may end after any batch.
package struct ReapPass: Sendable {
    /// The wait after a batch, as a multiple of the batch's duration, so that other work goes first.
    static let restFactor = 4
    static let longestRest = Duration.seconds(1)
    /// How often to check whether another pass has ended.
    static let waitForOthers = Duration.milliseconds(200)

    package private(set) var tally = ReapTally()
    private let app: String?
    /// A batch that takes longer is ended, because a trigger of a watched table may never end.
    private let longestBatch: Duration
    /// Where the next batch begins.
    private(set) var next: String?

    /// - Parameter app: An app, or nil for all apps.
    package init(of app: String? = nil, longestBatch: Duration = .seconds(600)) {
        self.app = app
        self.longestBatch = longestBatch
    }

    /// Returns the wait before the next batch, or nil if there is none.
    mutating func answered(_ batch: ReapBatch, after cost: Duration) -> Duration? {
        tally.add(batch)
        next = batch.next
        switch batch.state {
        case .more: return min(cost * Self.restFactor, Self.longestRest)
        case .busy: return Self.waitForOthers
        case .over: return nil
        }
    }

    /// - Parameter other: Ends a batch that takes too long. The connection of the pass is lost then.
    package mutating func run(
        on connection: PostgresConnection,
        endingOn other: PostgresConnection,
        _ loop: EventLoop,
        whileTrue mayGoOn: () -> Bool
    ) async throws(PostgresError) {
        while mayGoOn() {
            let began = MonotonicInstant.now
            let batch = try await nextBatch(on: connection, endingOn: other, loop)
            guard let rest = answered(batch, after: .now - began) else { return }
            try? await loop.sleep(for: rest)
        }
    }

    private func nextBatch(
        on connection: PostgresConnection,
        endingOn other: PostgresConnection,
        _ loop: EventLoop
    ) async throws(PostgresError) -> ReapBatch {
        let (parameters, limit) = (Parameters(app, next), longestBatch)
        async let _: Void = Self.end(parameters, on: other, after: limit, loop)
        return try await connection.query(ReapBatch.statement, parameters) { try $0.record(0) }
    }

    /// Ends the batch each time that it has taken that long, until this is cancelled.
    private static func end(
        _ parameters: Parameters,
        on other: PostgresConnection,
        after limit: Duration,
        _ loop: EventLoop
    ) async {
        do {
            while true {
                try await loop.sleep(for: limit)
                _ = try? await other.execute(ReapBatch.ending, parameters)
            }
        } catch {
            // The batch has ended.
        }
    }
}
