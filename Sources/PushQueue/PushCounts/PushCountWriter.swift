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

    private static let write = Statement(
        "write_counts",
        """
        INSERT INTO carillon.push_counts AS a (minute, app_id, worker_id, sent, failed, expired, retried, bad_tokens, bad_topics)
        SELECT date_trunc('minute', now()), c.app, $1, c.sent, c.failed, c.expired, c.retried, c.bad_tokens, c.bad_topics
        FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
            AS c(app, sent, failed, expired, retried, bad_tokens, bad_topics)
        ON CONFLICT (app_id, minute, worker_id) DO UPDATE SET sent = a.sent + excluded.sent,
            failed = a.failed + excluded.failed, expired = a.expired + excluded.expired,
            retried = a.retried + excluded.retried, bad_tokens = a.bad_tokens + excluded.bad_tokens,
            bad_topics = a.bad_topics + excluded.bad_topics
        """
    )

    func write(on connection: PostgresConnection) async throws(PostgresError) {
        while true {
            let counts = context.event { $0.unwrittenCounts.take() }
            guard !counts.isEmpty else { return }
            let parameters = Parameters(
                context.state.lease.id,
                PostgresArray(counts.keys),
                PostgresArray(counts.values.lazy.map { Int64($0.sent) }),
                PostgresArray(counts.values.lazy.map { Int64($0.failed) }),
                PostgresArray(counts.values.lazy.map { Int64($0.expired) }),
                PostgresArray(counts.values.lazy.map { Int64($0.retried) }),
                PostgresArray(counts.values.lazy.map { Int64($0.badTokens) }),
                PostgresArray(counts.values.lazy.map { Int64($0.badTopics) })
            )
            do throws(PostgresError) {
                try await connection.execute(Self.write, parameters)
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

    /// Pauses each of these apps if most of its pushes failed as BadDeviceToken or because of their topic.
    private static let openBreakers = Statement(
        "open_breakers",
        "SELECT b.app_id, b.app, b.reason FROM carillon.open_breakers($1) AS b"
    )

    private func openBreakers(of suspects: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        let parameters = Parameters(PostgresArray(suspects))
        let opened: [OpenedBreaker] = try await database.ask(connection, Self.openBreakers, parameters) {
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
