import CarillonPostgres

/// Writes the counts of pushes, and has PostgreSQL pause apps most of whose pushes fail because of their settings.
final class PushCountWriter {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let apps: AppWatch

    init(_ context: WorkerContext, _ database: WorkerDatabase, _ apps: AppWatch) {
        self.context = context
        self.database = database
        self.apps = apps
    }

    func write(on connection: PostgresConnection) async throws(PostgresError) {
        while true {
            let counts = context.event { $0.unwrittenCounts.take() }
            guard !counts.isEmpty else { return }
            let parameters = PushCountStatements.parameters(counts, of: context.state.lease.id)
            do throws(PostgresError) {
                try await connection.execute(PushCountStatements.write, parameters)
            } catch {
                context.event { $0.unwrittenCounts.failed(counts, error.effect) }
                throw error
            }
            let suspects = counts.filter { $0.value.bad > 0 }.map(\.key)
            do throws(PostgresError) {
                if !suspects.isEmpty { try await openBreakers(of: suspects, on: connection) }
                context.event { $0.unwrittenCounts.written() }
            } catch {
                context.event { $0.unwrittenCounts.failed([:], error.effect) }
                throw error
            }
            guard counts.count == UnwrittenCounts.maxApps else { return }
        }
    }

    private func openBreakers(of suspects: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        let parameters = Parameters(PostgresArray(suspects))
        let opened: [OpenedBreaker] = try await database.ask(connection, PushCountStatements.openBreakers, parameters) {
            try $0.records()
        }
        for breaker in opened { context.log(.breakerOpened(app: breaker.app, reason: breaker.reason)) }
        // The pause must be known at once: pushes of every further claim would fail.
        try await apps.read(opened.map(\.appID), on: connection)
    }
}

private struct OpenedBreaker: Decodable, Sendable {
    let appID: Int32
    let app: String
    let reason: String
}
