import CarillonIO
import CarillonPostgres

/// Reads the lists of the legacy feedback service. A list whose reading was interrupted, because the connection to the
/// database was lost, is kept and read to its end.
final class LegacyFeedbackReader {
    private let context: WorkerContext
    private var interrupted: LegacyFeedbackQueue?

    init(_ context: WorkerContext) { self.context = context }

    var wasInterrupted: Bool { interrupted != nil }

    func read(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: LegacyFeedbackQueue
        if let begun = interrupted.take() {
            lists = begun
        } else {
            lists = try await LegacyFeedbackQueue(of: nil, on: connection)
        }
        defer {
            for summary in lists.takeSummaries() { context.log(.feedbackRead(summary)) }
            if lists.isUnderWay { interrupted = lists }
            context.event { $0.maintenance.reads(legacyFeedback: lists.isUnderWay) }
            context.dispatchBell.ring()
        }
        context.event { $0.maintenance.reads(legacyFeedback: true) }
        try await lists.goOn(by: context.backend, on: connection, whileTrue: { context.goesOn })
    }
}
