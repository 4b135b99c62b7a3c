import CarillonIO
import CarillonPostgres
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CarillonDashboard

/// Pages that people leave open.
@Suite struct LiveTests {
    private static func stream(_ page: String, _ port: UInt16) -> String {
        "GET /live?page=\(page) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
    }

    /// Keeps so many streams open while the body runs.
    private func withStreams(_ count: Int, _ port: UInt16, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await RawHTTP.hold(port, Self.stream("/", port)) { try await withStreams(count - 1, port, body) }
    }

    @Test(.shop)
    func `the number of live pages is limited, and a further page is told to poll`() async throws {
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, loop in
            try await withStreams(LiveFeed.maxFeeds, client.port) {
                let refused = await client.get("/live?page=/", json: true)
                #expect(refused.status == "503" && refused.header("Retry-After") == "30", "\(refused.head)")
                #expect(refused.header("Content-Type") == "application/problem+json")
                // Pages are served all the same.
                #expect(await client.get("/apps").status == "200")
            }
            // That a client has gone is noticed when something is sent to it.
            try await loop.eventually("there is room again") {
                let answer = await RawHTTP.exchange(client.port, Self.stream("/", client.port)) { !$0.isEmpty }
                return answer.hasPrefix("HTTP/1.1 200 ")
            }
        }
    }

    @Test(.shop, .timeLimit(.minutes(10)))
    func `an open stream says that the database is away, and continues by itself when it is back`() async throws {
        let login = "live_\(shop.database.connection.backendProcessID)"
        try await shop.database.run("CREATE ROLE \(login) LOGIN; GRANT carillon_reader TO \(login)")
        try await attempt {
            try await DashboardClient.with(shop.database.url + "&user=\(login)", in: shop.folder) { client, loop in
                let port = client.port
                let (begun, away, over) = (Flag(), Flag(), Flag())
                async let answer = RawHTTP.exchange(port, Self.stream("/apps", port)) { bytes in
                    let text = String(decoding: bytes, as: UTF8.self)
                    if text.contains("/apps/shop") { begun.raise() }
                    guard let sentence = text.firstRange(of: "There is nothing to show") else {
                        return over.isRaised
                    }
                    away.raise()
                    return over.isRaised || text[sentence.upperBound...].contains("/apps/shop")
                }
                do {
                    try await loop.eventually("the stream begins") { begun.isRaised }
                    try await shop.database.run("ALTER ROLE \(login) NOLOGIN")
                    _ = try await shop.database.number(
                        "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.usename = '\(login)'"
                    )
                    try await loop.eventually("the stream says it") { away.isRaised }
                    try await shop.database.run("ALTER ROLE \(login) LOGIN")
                } catch {
                    // Otherwise the client would listen for as long as the stream lives.
                    over.raise()
                    throw error
                }
                #expect(await answer.hasPrefix("HTTP/1.1 200 "))
            }
        } finally: {
            try await shop.database.run("DROP OWNED BY \(login); DROP ROLE \(login)")
        }
    }

    /// Something that has happened on another thread.
    private final class Flag: Sendable {
        private let state = Atomic(false)
        var isRaised: Bool { state.load(ordering: .acquiring) }
        func raise() { state.store(true, ordering: .releasing) }
    }

    @Test func `pages and streams are there again when PostgreSQL has restarted`() async throws {
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
                        let answer = await RawHTTP.exchange(client.port, Self.stream("/", client.port)) {
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
