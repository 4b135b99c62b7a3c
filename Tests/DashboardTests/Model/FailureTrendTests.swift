import CarillonWeb
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonDashboard

/// Failures of a reason over time.
@Suite struct FailureTrendTests {
    private struct Page: Decodable {
        struct Group: Decodable {
            let reason: String
            let pushes: Int
            let trend: [Int?]
        }
        let groups: [Group]
    }

    private static let failures = """
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
        SELECT n, 1, lpad(to_hex(n), 64, '0'), 400, CASE WHEN n <= 30 THEN 'BadTopic' ELSE 'BadDeviceToken' END,
            now() - CASE WHEN n <= 30 THEN interval '1 minute' WHEN n <= 50 THEN interval '31 minutes'
                WHEN n <= 60 THEN interval '58 minutes' ELSE interval '2 hours' END
        FROM generate_series(1, 100) n
        """

    private func groups(_ client: DashboardClient, _ path: String) async throws -> [Page.Group] {
        try JSONDecoder().decode(Page.self, from: Data(await client.get(path, json: true).body.utf8)).groups
    }

    @Test(.shop) func `each part of the time has its failures, and the newest is the last`() async throws {
        try await shop.database.run(Self.failures)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let hour = try await groups(client, "/failures?since=1h")
            #expect(hour.map(\.reason) == ["BadDeviceToken", "BadTopic"] && hour.map(\.pushes) == [30, 30])
            // Parts of two and a half minutes.
            #expect(hour[0].trend[11] == 20 && hour[0].trend[0] == 10 && hour[1].trend[23] == 30)
            #expect(hour.allSatisfy { $0.trend.count == 24 && $0.trend.compactMap(\.self).reduce(0, +) == 30 })
            let day = try await groups(client, "/failures?since=1d")
            #expect(day[0].pushes == 70 && day[0].trend[21] == 40 && day[0].trend[23] == 30)
            let page = try DashboardClient.read(await client.get("/failures?since=1h"), "/failures")
            let drawings = page.elements.filter { $0.attributes["class"] == "trend" }
            #expect(drawings.map { $0.attributes["aria-label"] } == ["at most 20 in 2m 30s", "at most 30 in 2m 30s"])
        }
    }

    @Test(.shop) func `a period that was not searched is not drawn as zero`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
            SELECT n, 1, lpad(to_hex(n), 64, '0'), 400, 'BadTopic', now() - n * interval '0.3 seconds'
            FROM generate_series(1, 6000) n
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let found = try await groups(client, "/failures?app=shop&since=1h")
            // 5,000 of them are the newest 25 minutes.
            #expect(found[0].pushes == 5_000 && found[0].trend[..<13].allSatisfy { $0 == nil })
            #expect(found[0].trend[13...].reduce(0) { $0 + ($1 ?? 0) } == 5_000)
        }
    }

    @Test func `anything that happened is drawn, and nothing leaves the drawing`() {
        let trend = FailureTrend([(ago: 0, count: 1_000), (ago: 2, count: 1), (ago: 99, count: 5)], oldest: 3)
        #expect(trend.counts == Array(repeating: nil, count: 20) + [0, 1, 0, 1_000])
        #expect(
            trend.html(of: 3_600).markup.contains(#"d="M80 20V20h4V18h4V20h4V0h4V20z""#),
            "\(trend.html(of: 3_600))"
        )
        #expect(FailureTrend([], oldest: 23).html(of: 3_600).markup.contains(#"aria-label="at most 0 in 2m 30s""#))
    }
}
