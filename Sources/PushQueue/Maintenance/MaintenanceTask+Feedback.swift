import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// The fleet's feedback passes. A worker with `once` runs none.
    static let feedback = MaintenanceTask(
        name: .feedback,
        wait: { $0.feedbackWait() },
        means: .fleet(.feedback, every: { $0.feedbackInterval }) { context, connection throws(PostgresError) in
            try await context.feedback.read(on: connection)
            let began = MonotonicInstant.now
            var pass = FeedbackPass()
            defer {
                for event in WorkerEvent.feedbackPass(pass.tally, in: .now - began) { context.ledger.log(event) }
            }
            try await pass.run(on: connection, context.core.loop, whileTrue: { context.core.goesOn })
        }
    )

    /// Legacy feedback lists whose reading was interrupted when the connection was lost.
    static let feedbackLists = MaintenanceTask(
        name: .feedback,
        wait: { $0.maintenance.feedbackListWait },
        means: .own(ifDue: { context, _ in context.feedback.wasInterrupted }) {
            context,
            connection throws(PostgresError) in
            try await context.feedback.read(on: connection)
        }
    )
}
