import ApplePush
import CarillonPostgres

/// Reads the lists of the legacy feedback service. A list whose reading was interrupted, because the connection to the
/// database was lost, is kept and read to its end.
final class FeedbackReader {
    private let core: Core
    private let ledger: Ledger
    private let backend: any Backend
    private var interrupted: FeedbackLists?

    init(_ core: Core, _ ledger: Ledger, _ backend: any Backend) {
        self.core = core
        self.ledger = ledger
        self.backend = backend
    }

    var wasInterrupted: Bool { interrupted != nil }

    func read(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: FeedbackLists
        if let begun = interrupted.take() {
            lists = begun
        } else {
            lists = try await FeedbackLists(of: nil, on: connection)
        }
        defer {
            for summary in lists.takeSummaries() { ledger.log(.feedbackRead(summary)) }
            if lists.isUnderWay { interrupted = lists }
            core.event { $0.maintenance.reads(feedback: lists.isUnderWay) }
            core.dispatchBell.ring()
        }
        core.event { $0.maintenance.reads(feedback: true) }
        try await lists.goOn(by: backend, on: connection, whileTrue: { core.goesOn })
    }
}
