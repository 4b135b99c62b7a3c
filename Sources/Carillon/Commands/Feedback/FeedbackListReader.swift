import ApplePush
import IO
import Postgres
import PushQueue

/// Reads the lists of the legacy feedback service for a command, and writes what they say into the table.
struct FeedbackListReader: Sendable {
    private static let waitForDatabase = Duration.seconds(1)

    let log: Log
    let database: String

    /// Reads those of one app, or of all. What was read is not given up when the database is lost: it is written over
    /// another connection, as soon as there is one, and only then is this over, in failure. Answers with what came of each.
    func read(
        of app: String?,
        on connection: PostgresConnection,
        _ loop: EventLoop
    ) async throws -> [FeedbackReport] {
        let backend = HTTP2Backend()
        var lists = try await FeedbackLists(of: app, on: connection)
        do {
            try await lists.goOn(by: backend, on: connection, whileTrue: { !Task.isCancelled })
        } catch {
            while lists.isUnderWay {
                log.error("What was read of dead tokens waits for the database.", ["error": .string("\(error)")])
                try await loop.sleep(for: Self.waitForDatabase)
                try? await finish(&lists, by: backend, loop)
            }
            await backend.shutdown()
            throw error
        }
        await backend.shutdown()
        try Task.checkCancellation()
        let reports = lists.takeReports()
        for report in reports { FeedbackLog(log: log).tell(report) }
        return reports
    }

    private func finish(_ lists: inout FeedbackLists, by backend: HTTP2Backend, _ loop: EventLoop) async throws {
        let connection = try await PostgresConnection.connect(database, on: loop, application: "carillon feedback")
        var result = Result<Void, PostgresError>.success(())
        do throws(PostgresError) {
            try await lists.goOn(by: backend, on: connection, whileTrue: { false })
        } catch {
            result = .failure(error)
        }
        await connection.close()
        try result.get()
    }
}
