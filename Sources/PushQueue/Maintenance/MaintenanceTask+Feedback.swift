import ApplePush
import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// The fleet's feedback passes. A worker with `once` runs none.
    static let feedback = MaintenanceTask(
        name: .feedback,
        wait: { $0.feedbackWait() },
        means: .fleet(.feedback, every: { $0.feedbackInterval }) { worker, connection throws(PostgresError) in
            try await worker.runFeedback(on: connection)
        }
    )

    /// Legacy feedback lists whose reading was interrupted when the connection was lost.
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
        defer { ledger.log(.reaped(pass.tally, in: .now - began)) }
        try await pass.run(on: connection, core.loop, whileTrue: { core.goesOn })
    }

    /// Reads the legacy feedback lists.
    fileprivate func readLists(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: FeedbackLists
        if let begun = feedbackLists.take() {
            lists = begun
        } else {
            lists = try await FeedbackLists(of: nil, on: connection)
        }
        defer {
            for summary in lists.takeSummaries() { ledger.log(.feedbackRead(summary)) }
            if lists.isUnderWay { feedbackLists = lists }
            core.event { $0.isReadingFeedback = lists.isUnderWay }
            core.dispatchBell.ring()
        }
        core.event { $0.isReadingFeedback = true }
        try await lists.goOn(by: backend, on: connection, whileTrue: { core.goesOn })
    }
}
