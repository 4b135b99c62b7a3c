import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// The fleet's feedback passes. A worker with `once` runs none.
    static let feedback = MaintenanceTask(
        name: .feedback,
        wait: { $0.feedbackWait() },
        means: .fleet(.feedback, every: { $0.feedbackInterval }) { parts, connection throws(PostgresError) in
            try await parts.feedback.read(on: connection)
            let began = MonotonicInstant.now
            var pass = FeedbackPass()
            defer {
                for event in WorkerEvent.feedbackPass(pass.tally, in: .now - began) { parts.context.log(event) }
            }
            try await pass.run(on: connection, parts.context.loop, whileTrue: { parts.context.goesOn })
        }
    )

    /// Legacy feedback lists whose reading was interrupted when the connection was lost.
    static let feedbackLists = MaintenanceTask(
        name: .feedbackLists,
        wait: { $0.maintenance.feedbackListWait },
        means: .own(ifDue: { parts, _ in parts.feedback.wasInterrupted }) {
            parts,
            connection throws(PostgresError) in
            try await parts.feedback.read(on: connection)
        }
    )
}
