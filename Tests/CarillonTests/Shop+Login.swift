import Postgres
import TestSupport
import Testing

extension Shop {
    /// A login by password in the shop's database: where it is, and how it is called.
    func withLogin(
        password: String,
        _ body: (_ address: String, _ name: String) async throws -> Void
    ) async throws {
        let name = "bird_\(connection.backendProcessID)"
        let database = try await connection.query(Statement("here", "SELECT current_database()::text")) {
            try $0.string(0, 0)
        }
        let url = try await TestCluster.shared.loopbackURL(database: database)
        let address = String(try #require(url.split(separator: "@").last))
        try await connection.script(
            "CREATE ROLE \(name) LOGIN PASSWORD '\(password)'; GRANT carillon_worker TO \(name)"
        )
        try await attempt {
            try await body(address, name)
        } finally: {
            try await connection.script("DROP OWNED BY \(name); DROP ROLE \(name)")
        }
    }
}
