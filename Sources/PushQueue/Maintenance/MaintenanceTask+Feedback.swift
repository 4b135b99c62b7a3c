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
        try await self.readLists(on: connection)
        let began = MonotonicInstant.now
        var pass = FeedbackPass()
        defer { self.tell(.reaped(pass.tally, in: .now - began)) }
        try await pass.run(on: connection, self.loop, whileTrue: { self.goesOn })
    }

    /// What the legacy feedback service has to tell, before anything is reaped.
    fileprivate func readLists(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: FeedbackLists
        if let begun = self.feedbackLists.take() {
            lists = begun
        } else {
            lists = try await FeedbackLists(of: nil, on: connection)
        }
        defer {
            for report in lists.takeReports() { self.tell(.feedbackRead(report)) }
            if lists.isUnderWay { self.feedbackLists = lists }
            self.state.isReadingFeedback = lists.isUnderWay
            self.dispatchBell.ring()
        }
        self.state.isReadingFeedback = true
        try await lists.goOn(by: self.backend, on: connection, whileTrue: { self.goesOn })
    }
}
