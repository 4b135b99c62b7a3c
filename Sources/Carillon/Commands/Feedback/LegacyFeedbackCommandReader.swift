import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue

/// Reads legacy feedback lists for a command, and writes their entries into the table.
struct LegacyFeedbackCommandReader: Sendable {
    private static let pause = Duration.seconds(1)
    private static let waitForDatabase = Duration.seconds(60)

    let log: Log
    let database: DatabaseSource

    /// Reads the lists of one app, or of all. If the connection to the database is lost, the entries already read are
    /// written over another one, if it can be made within a minute. Returns what was done for each app.
    func read(
        of app: String?,
        on connection: PostgresConnection,
        _ loop: EventLoop
    ) async throws -> [LegacyFeedbackQueue.Summary] {
        let backend = HTTP2Backend()
        var lists = try await LegacyFeedbackQueue(of: app, on: connection)
        do {
            try await lists.goOn(by: backend, on: connection, whileTrue: { !Task.isCancelled })
        } catch {
            // In a task of its own, because a cancelled command must still do it.
            if lists.isUnderWay {
                log.error(
                    "The connection to the database was lost; the dead tokens that were read wait for it.",
                    ["error": "\(error)"]
                )
                let begun = lists
                lists = await Task { await finish(begun, by: backend, loop) }.value
            }
            await backend.shutdown()
            if lists.isUnderWay {
                log.error(
                    "Dead tokens that were read could not be recorded, and are lost.",
                    ["tokens": lists.unwritten]
                )
            }
            for report in lists.takeSummaries() { log.write(.feedbackRead(report)) }
            throw error
        }
        await backend.shutdown()
        try Task.checkCancellation()
        let reports = lists.takeSummaries()
        for report in reports { log.write(.feedbackRead(report)) }
        return reports
    }

    private func finish(_ begun: LegacyFeedbackQueue, by backend: HTTP2Backend, _ loop: EventLoop) async
        -> LegacyFeedbackQueue
    {
        var lists = begun
        let deadline = MonotonicInstant.now + Self.waitForDatabase
        while lists.isUnderWay, .now < deadline {
            try? await loop.sleep(for: Self.pause)
            do {
                try await DatabaseScope.with(database, on: loop, application: "carillon feedback") { connection in
                    // If it fails again, the next try writes what is left.
                    try? await lists.goOn(by: backend, on: connection, whileTrue: { false })
                }
            } catch {
                log.debug("The database is not back.", ["error": "\(error)"])
            }
        }
        return lists
    }
}
