import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

@Suite struct FindingTests {
    /// Pushes of the last hour, why some failed, and what follows.
    private static let hours: [(sent: Int, failed: Int, reason: String, severity: Finding.Severity?)] = [
        (0, 2, "Unregistered", nil), (0, 3, "Unregistered", .critical), (0, 1, "TopicDisallowed", .critical),
        (2, 4, "Unregistered", .warning), (4, 4, "TopicDisallowed", nil), (0, 0, "Unregistered", nil),
    ]

    @Test(.demo) func `an app is found if most of its pushes fail, unless they are one or two dead tokens`()
        async throws
    {
        for hour in Self.hours {
            try await database.run(
                """
                DELETE FROM carillon.push_counts;
                DELETE FROM carillon.failures;
                INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed)
                VALUES (date_trunc('minute', now()), 1, 7, \(hour.sent), \(hour.failed));
                INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (1, 1, 'aa', '\(hour.reason)')
                """
            )
            let findings = AppStatus.findings(of: try await AppStatus.all(from: database.connection))
            #expect(findings.map(\.severity) == [hour.severity].compactMap(\.self), "\(hour): \(findings)")
        }
    }
}
