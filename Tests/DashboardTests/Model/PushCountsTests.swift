import FoundationEssentials
import TestSupport
import Testing

/// What the charts of an hour and of a day show.
@Suite(.shop) struct PushCountsTests {
    private struct Page: Decodable {
        struct Bucket: Decodable, Equatable {
            let start: String
            let sent, failed, expired, retried: Int
        }
        let over: String
        let counts: [Bucket]
    }

    private static let day = """
        INSERT INTO carillon.apps (name) VALUES ('other');
        INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed, expired, retried)
        SELECT m, a, w, extract(minute FROM m) + a, w, a, 1
        FROM generate_series(date_trunc('minute', now()) - interval '1450 minutes', now(), interval '1 minute') m,
            generate_series(1, 2) a, generate_series(1, 3) w
        """

    private func read(_ client: DashboardClient, _ path: String) async throws -> Page {
        try JSONDecoder().decode(Page.self, from: Data(await client.get(path, json: true).body.utf8))
    }

    @Test func `a day is the same whether its minutes were summed or not`() async throws {
        try await shop.database.run(Self.day)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            for path in ["/?over=day", "/apps/other?over=day"] {
                try await shop.database.run("DELETE FROM carillon.push_count_sums")
                let before = try await read(client, path)
                try await shop.database.run("SELECT carillon.maintain_step('sum', 'push_counts')")
                #expect(try await shop.database.number("SELECT count(*) FROM carillon.push_count_sums") > 100)
                let after = try await read(client, path)
                #expect(before.over == "day" && (71...73).contains(before.counts.count))
                // The clock may have begun another bucket meanwhile.
                let known = Dictionary(uniqueKeysWithValues: before.counts.map { ($0.start, $0) })
                let compared = after.counts.filter { known[$0.start] != nil }
                #expect(compared.count >= 70 && compared.allSatisfy { $0 == known[$0.start] }, "\(path)")
                let whole = compared.dropFirst().dropLast(2)
                #expect(whole.allSatisfy { $0.retried == (path == "/?over=day" ? 120 : 60) }, "\(path): \(whole)")
            }
        }
    }

    @Test func `the overview has an hour by minute, a day by 20 minutes, and the rates of the last minute in both`()
        async throws
    {
        try await shop.database.run(Self.day)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let hour = try await read(client, "/")
            #expect(hour.over == "hour" && (59...61).contains(hour.counts.count))
            for path in ["/", "/?over=day"] {
                let page = try DashboardClient.read(await client.get(path), path)
                #expect(page.text.contains("Retried a second"))
                // Six rows a minute, each with one.
                #expect(await client.get(path, json: true).body.contains("\"retried_per_second\":0.1,"))
                let links = page.elements.filter { $0.attributes["aria-current"] == "true" }
                #expect(links.map { $0.attributes["href"] } == [path])
            }
        }
    }
}
