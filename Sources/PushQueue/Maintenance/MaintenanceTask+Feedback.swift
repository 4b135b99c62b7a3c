import ApplePush
import IO
import Postgres

extension MaintenanceTask {
    /// The fleet's feedback passes. A worker that works off what is due and ends runs none.
    static let feedback = MaintenanceTask(
        name: .feedback,
        wait: { $0.feedbackWait() },
        means: .held(.feedback, every: { $0.feedbackInterval }) { worker, connection throws(PostgresError) in
            try await worker.runFeedback(on: connection)
        }
    )

    /// Lists of dead tokens of which the database was lost while they were read: what was read is written whatever
    /// happens.
    static let feedbackLists = MaintenanceTask(
        name: .feedback,
        wait: { $0.feedbackListWait },
        means: .own(ifDue: { worker, _ in worker.feedbackLists != nil }) { worker, connection throws(PostgresError) in
            try await worker.readLists(on: connection)
        }
    )
}

extension Worker {
    fileprivate func runFeedback(on connection: PostgresConnection) async throws(PostgresError) {
        try await readLists(on: connection)
        let began = MonotonicInstant.now
        var pass = FeedbackPass()
        defer { tell(.reaped(pass.tally, in: .now - began)) }
        try await pass.run(on: connection, loop, whileTrue: { goesOn })
    }

    /// What the legacy feedback service has to tell, before anything is reaped.
    fileprivate func readLists(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: FeedbackLists
        if let begun = feedbackLists.take() {
            lists = begun
        } else {
            lists = try await FeedbackLists(of: nil, on: connection)
        }
        defer {
            for report in lists.takeReports() { tell(.feedbackRead(report)) }
            if lists.isUnderWay { feedbackLists = lists }
            state.isReadingFeedback = lists.isUnderWay
            dispatchBell.ring()
        }
        state.isReadingFeedback = true
        try await lists.goOn(by: backend, on: connection, whileTrue: { goesOn })
    }
}
