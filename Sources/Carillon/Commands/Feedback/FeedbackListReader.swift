import ApplePush
import IO
import Postgres
import PushQueue

/// Reads the lists of the legacy feedback service for a command, and writes what they say into the table.
struct FeedbackListReader: Sendable {
    private static let waitForDatabase = Duration.seconds(1)
    private static let triesForDatabase = 60

    let log: Log
    let database: DatabaseSource

    /// Reads those of one app, or of all. What was read is not given up when the database is lost: it is written over
    /// another connection, if there is one within a minute, and only then is this over, in failure. Answers with what came
    /// of each.
    func read(
        of app: String?,
        on connection: PostgresConnection,
        _ loop: EventLoop
    ) async throws -> [FeedbackListSummary] {
        let backend = HTTP2Backend()
        var lists = try await FeedbackLists(of: app, on: connection)
        do {
            try await lists.goOn(by: backend, on: connection, whileTrue: { !Task.isCancelled })
        } catch {
            // In a task of its own: told to stop, the command still has this to do.
            if lists.isUnderWay {
                log.error(
                    "The database is lost; the dead tokens that were read wait for it.",
                    ["error": .string("\(error)")]
                )
                let begun = lists
                lists = await Task { await finish(begun, by: backend, loop) }.value
            }
            await backend.shutdown()
            if lists.isUnderWay {
                let unwritten = JSONValue.int(Int64(lists.unwritten))
                log.error("Dead tokens that were read could not be recorded, and are lost.", ["tokens": unwritten])
            }
            for report in lists.takeSummaries() { FeedbackLog(log: log).tell(report) }
            throw error
        }
        await backend.shutdown()
        try Task.checkCancellation()
        let reports = lists.takeSummaries()
        for report in reports { FeedbackLog(log: log).tell(report) }
        return reports
    }

    private func finish(_ begun: FeedbackLists, by backend: HTTP2Backend, _ loop: EventLoop) async -> FeedbackLists {
        var lists = begun
        for _ in 0..<Self.triesForDatabase where lists.isUnderWay {
            try? await loop.sleep(for: Self.waitForDatabase)
            do {
                let connection = try await PostgresConnection.connect(
                    database,
                    on: loop,
                    application: "carillon feedback",
                    settings: DatabaseScope.settings
                )
                // Where that fails again, the next try has what is left.
                try? await lists.goOn(by: backend, on: connection, whileTrue: { false })
                await connection.close()
            } catch {
                log.debug("The database is not back.", ["error": .string("\(error)")])
            }
        }
        return lists
    }
}
