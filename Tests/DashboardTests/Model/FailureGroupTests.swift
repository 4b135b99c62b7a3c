import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonDashboard

/// Failures by reason.
@Suite(.shop) struct FailureGroupTests {
    @Test(arguments: ["force_custom_plan", "force_generic_plan"])
    func `of an app that has most of all failures, no more are read than are looked at`(_ mode: String) async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id)
            SELECT 'app ' || n, 'com.example.app' || n, (SELECT min(c.id) FROM carillon.certificates c)
            FROM generate_series(1, 99) n;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
            SELECT n, CASE WHEN n <= 20000 THEN 1 ELSE n - 20000 END, 'aa', 400, 'BadTopic',
                now() - n * 7919 % 20000 * interval '1 second' FROM generate_series(1, 20100) n;
            ANALYZE carillon.failures;
            SET plan_cache_mode = \(mode);
            PREPARE groups (text, text, float8, bool, int8) AS \(FailureGroup.statement.sql)
            """
        )
        let plan = try await shop.database.plan(
            "EXECUTE groups('shop', NULL, 86400, false, 500)",
            "ANALYZE, COSTS off, TIMING off, SUMMARY off"
        )
        let most = plan.matches(of: /actual rows=(\d+)/).compactMap { Int($0.output.1) }.max()
        #expect(most == 500, "\(plan)")
    }
}
