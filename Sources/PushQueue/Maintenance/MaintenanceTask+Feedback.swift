import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// The fleet's feedback passes. A worker with `once` runs none.
    static let feedback = MaintenanceTask(
        name: .feedback,
        wait: { $0.maintenance.feedbackWait() },
        means: .fleet(every: { $0.feedbackInterval }) { tools, connection throws(PostgresError) in
            try await tools.legacyFeedback.read(on: connection)
            let began = MonotonicInstant.now
            var pass = ReapPass()
            defer {
                for event in WorkerEvent.feedbackPass(pass.tally, in: .now - began) { tools.context.log(event) }
            }
            try await pass.run(on: connection, tools.context.loop, whileTrue: { tools.context.goesOn })
        }
    )

    /// Legacy feedback lists whose reading was interrupted when the connection was lost.
    static let feedbackLists = MaintenanceTask(
        name: .feedbackLists,
        wait: { $0.maintenance.legacyFeedbackWait },
        means: .own(ifDue: { tools, _ in tools.legacyFeedback.wasInterrupted }) {
            tools,
            connection throws(PostgresError) in
            try await tools.legacyFeedback.read(on: connection)
        }
    )
}
