package import CarillonIO
package import CarillonPostgres

/// A feedback pass deletes dead tokens in batches, each in a short transaction of its own. It may end after any batch.
package struct ReapPass: Sendable {
    /// The wait after a batch, as a multiple of the batch's duration, so that other work goes first.
    static let waitFactor = 4
    static let longestWait = Duration.seconds(1)
    /// How often to check whether another pass has ended.
    static let waitForOthers = Duration.milliseconds(200)

    package private(set) var tally = ReapTally()
    private let app: String?
    /// Where the next batch begins.
    private(set) var next: String?

    package init(of app: String? = nil) { self.app = app }

    /// Returns the wait before the next batch, or nil if there is none.
    mutating func returned(_ batch: ReapBatch, after cost: Duration) -> Duration? {
        tally.add(batch)
        next = batch.next
        switch batch.state {
        case .more: return min(cost * Self.waitFactor, Self.longestWait)
        case .busy: return Self.waitForOthers
        case .over: return nil
        }
    }

    package mutating func run(
        on connection: PostgresConnection,
        _ loop: EventLoop,
        whileTrue mayGoOn: () -> Bool
    ) async throws(PostgresError) {
        while mayGoOn() {
            let began = MonotonicInstant.now
            let batch = try await ReapBatch.reap(app, from: next, on: connection)
            guard let wait = returned(batch, after: .now - began) else { return }
            try? await loop.sleep(for: wait)
        }
    }
}
