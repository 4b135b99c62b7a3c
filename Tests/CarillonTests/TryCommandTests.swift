import FoundationEssentials
import Glibc
import IO
import Postgres
import TestSupport
import Testing

/// `carillon try`, as somebody uses it who has never seen it.
@Suite struct TryCommandTests {
    @Test func `what it prints can be pasted into psql, what becomes of it is shown, and nothing is left of it`()
        async throws
    {
        try await TestLoop.with { loop in
            try await TemporaryFolder.with { folder in
                let program = try BackgroundProgram(["try"], in: folder)
                let psql = try await program.line(containing: "psql '", on: loop)
                let url = String(try #require(psql.split(separator: "'").dropFirst().first))
                let enqueue = try await program.line(containing: "SELECT carillon.enqueue(", on: loop)
                let connection = try await PostgresConnection.connect(url, on: loop, application: "test")
                try await attempt {
                    try await connection.script(enqueue)
                    _ = try await program.line(containing: "200  {\"aps\":{\"alert\":\"Your table is ready\"", on: loop)
                    _ = try await program.line(containing: ": 1 sent, after 1 attempt.", on: loop)
                    try await connection.script(
                        "SELECT carillon.enqueue('try', ARRAY['\(Shop.token("dead"))', '\(Shop.token("503"))'], alert => 'x')"
                    )
                    _ = try await program.line(containing: "410 Unregistered", on: loop)
                    _ = try await program.line(containing: "Pushes will be retried.", on: loop)
                    _ = try await program.line(
                        containing: ": 1 sent, 1 failed, after 3 attempts (Unregistered).",
                        on: loop
                    )
                } finally: {
                    await connection.close()
                }
                #expect(try await program.end(by: SIGINT, on: loop) == .status(0))
                #expect(program.said.contains("has been stopped."))
                let host = try #require(url.split(separator: "host=").last?.split(separator: "&").first)
                #expect(!FileManager.default.fileExists(atPath: String(host).replacing("%2F", with: "/")))
            }
        }
    }
}
