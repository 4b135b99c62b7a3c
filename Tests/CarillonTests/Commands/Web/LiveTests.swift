import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Pages that people leave open.
@Suite struct LiveTests {
    private static func stream(_ page: String, _ port: UInt16) -> String {
        "GET /live?page=\(page) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
    }

    /// Keeps so many streams open while the body runs.
    private func withStreams(_ count: Int, _ port: UInt16, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await TestClient.hold(port, Self.stream("/", port)) { try await withStreams(count - 1, port, body) }
    }

    @Test func `as many pages are live as are allowed, and a further one is told to look by itself`() async throws {
        try await Shop.with { shop in
            try await DashboardClient.with(shop.database.url, in: shop.folder) { client, loop in
                try await withStreams(LiveFeed.limit, client.port) {
                    let refused = await client.get("/live?page=/", json: true)
                    #expect(refused.status == "503" && refused.header("Retry-After") == "30", "\(refused.head)")
                    #expect(refused.header("Content-Type") == "application/problem+json")
                    // Pages are served all the same.
                    #expect(await client.get("/apps").status == "200")
                }
                // That a client has gone is noticed when something is sent to it.
                try await loop.eventually("there is room again", within: .seconds(40)) {
                    let answer = await TestClient.exchange(client.port, Self.stream("/", client.port)) { !$0.isEmpty }
                    return answer.hasPrefix("HTTP/1.1 200 ")
                }
            }
        }
    }

    @Test func `a stream says that PostgreSQL is away, and goes on by itself when it has started again`() async throws {
        try await TestLoop.with { loop in
            let cluster = try await PrivateCluster.start(.fast, on: loop)
            try await attempt {
                try await TestDatabase.migrate(cluster.url())
                try await TemporaryFolder.with { folder in
                    try await DashboardClient.with(cluster.url(), in: folder) { client, _ in
                        #expect(await client.get("/").status == "200")
                        for mode in [PrivateCluster.StopMode.fast, .immediate] {
                            try await cluster.restart(mode)
                            let page = await client.get("/")
                            #expect(page.status == "200" && page.body.contains("There is no app yet"), "\(page.head)")
                        }
                        let answer = await TestClient.exchange(client.port, Self.stream("/", client.port)) {
                            String(decoding: $0, as: UTF8.self).contains("There is no app yet")
                        }
                        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
                    }
                }
            } finally: {
                await cluster.stop()
            }
        }
    }
}
