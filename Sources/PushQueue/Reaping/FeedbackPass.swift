package import IO
package import Postgres

/// A feedback pass: batch after batch, each a short transaction of its own. Whenever it ends, all that it has done is done;
/// going over it again changes nothing.
package struct FeedbackPass: Sendable {
    /// How much longer than a batch took the database rests before the next one: the pass is in no hurry, and on a busy
    /// machine a batch takes longer.
    static let leisure = 4
    static let longestRest = Duration.seconds(1)
    /// How often to ask whether another pass has ended.
    static let waitForOthers = Duration.milliseconds(200)

    package private(set) var tally = FeedbackTally()
    private let app: String?
    /// Where the next batch begins.
    private(set) var place: String?

    /// - Parameter app: nil: of all apps.
    package init(of app: String? = nil) {
        self.app = app
    }

    /// The database answered, after so long: how long to wait before the next batch; nil: there is none.
    mutating func answered(_ batch: ReapBatch, after cost: Duration) -> Duration? {
        tally.add(batch)
        place = batch.next
        switch batch.state {
        case .more: return min(cost * Self.leisure, Self.longestRest)
        // Perhaps a worker that has died, whose last batch PostgreSQL has not given up yet: what is left is ours.
        case .busy: return Self.waitForOthers
        case .over: return nil
        }
    }

    /// Runs it to its end, or for as long as it may.
    package mutating func run(
        on connection: PostgresConnection,
        _ loop: EventLoop,
        whileTrue mayGoOn: () -> Bool
    ) async throws(PostgresError) {
        while mayGoOn() {
            var parameters = Parameters()
            parameters.append(app)
            parameters.append(place)
            let began = MonotonicInstant.now
            let batch = try await Self.ask(connection, parameters)
            guard let rest = answered(batch, after: .now - began) else { return }
            try? await loop.sleep(for: rest)
        }
    }

    private static func ask(
        _ connection: PostgresConnection,
        _ parameters: Parameters
    ) async throws(PostgresError) -> ReapBatch {
        do {
            return try await connection.query(ReapBatch.statement, parameters) { try ReapBatch($0) }
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }
}
