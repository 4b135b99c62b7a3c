import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct PostgresConnectingTests {
    private static func error(_ url: String, timeout: Duration = .seconds(10)) async throws -> PostgresError {
        do {
            let connection = try await PostgresConnection.connect(url, timeout: timeout)
            await connection.close()
        } catch {
            #expect(!"\(error)".contains("s3cret"))
            return error
        }
        throw Surprise()
    }

    private struct Surprise: Error {}

    @Test func `a port where nothing listens is unreachable`() async throws {
        let error = try await Self.error("postgresql://app:s3cret@127.0.0.1:\(ReservedPort.choose())/db")
        #expect(error.code == .unreachable)
        #expect(error.message.contains("refused"))
    }

    @Test func `a socket that is not there is unreachable`() async throws {
        let error = try await Self.error("host=/nonexistent dbname=db")
        #expect(error.code == .unreachable)
        #expect(error.description.contains("check that PostgreSQL runs there"))
    }

    @Test func `a server that does not answer is unreachable`() async throws {
        let listener = try Listener(host: "127.0.0.1", port: 0, on: TestLoop.shared) { socket in _ = socket.release() }
        defer { listener.close() }
        let error = try await Self.error("postgresql://127.0.0.1:\(listener.port)/db", timeout: .milliseconds(100))
        #expect(error.code == .unreachable)
        #expect(error.message.contains("did not answer within 0.1 seconds"))
    }

    @Test func `connecting ends at once when the task is cancelled`() async throws {
        let listener = try Listener(host: "127.0.0.1", port: 0, on: TestLoop.shared) { socket in _ = socket.release() }
        defer { listener.close() }
        let url = "postgresql://127.0.0.1:\(listener.port)/db"
        let task = Task { try await Self.error(url, timeout: .seconds(100)) }
        task.cancel()
        #expect(try await task.value.code == .cancelled)
    }

    @Test func `after a wrong password the error says what to check`() async throws {
        try await TestDatabase.unconnected(.nothing) { _ in
            let url = try await TestCluster.shared.loopbackURL()
            let address = try #require(url.split(separator: "@").last)
            let error = try await Self.error("postgresql://postgres:s3cret@\(address)")
            #expect(error.code == .authentication)
            #expect(error.sqlState == "28P01")
            #expect(error.description.contains("check the user and the password"))
        }
    }

    @Test func `the right password is accepted over the network`() async throws {
        let url = try await TestCluster.shared.loopbackURL()
        let connection = try await PostgresConnection.connect(url)
        await connection.close()
    }

    @Test func `the error names a database that does not exist`() async throws {
        let error = try await Self.error(try await TestCluster.shared.url(database: "no such database"))
        #expect(error.code == .authentication)
        #expect(error.sqlState == "3D000")
        #expect(error.message.contains("no such database"))
    }

    @Test(arguments: [
        "postgresql://app:s3cret@localhost:nope/db", "postgresql://localhost/db?sslmode=perhaps", "nonsense",
    ])
    func `a malformed string has an error of its own`(url: String) async throws {
        #expect(try await Self.error(url).code == .malformedURL)
    }

    @Test func `the error names a host that does not exist`() async throws {
        let error = try await Self.error("postgresql://app:s3cret@no-such-host.invalid/db")
        #expect(error.code == .unreachable)
        #expect(error.message.contains("no-such-host.invalid"))
    }
}
