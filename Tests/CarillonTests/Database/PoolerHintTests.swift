import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// A pooler that is set up so that nothing can work says so itself.
@Suite(.shop, .enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
struct PoolerHintTests {
    @Test func `a pooler in statement mode is named as the cause, with what to set`() async throws {
        let database = try #require(shop.database.url.split(separator: "?").first?.split(separator: "/").last)
        try await TestLoop.with { loop in
            try await TestPooler.with("statement", size: 2, before: try await TestCluster.shared, on: loop) {
                pooler in
                let url = pooler.url(database: String(database))
                for words in [["worker", "--once"], ["migrate", "up"]] {
                    let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": url])
                    #expect(run.status == 78, "\(words): \(run.errors)")
                    #expect(run.errors.contains("statement mode") && run.errors.contains("pool_mode = transaction"))
                }
            }
        }
    }
}
