import CarillonPostgres
import Testing

extension Shop {
    /// A login by password in the shop's database: where it is, and how it is called.
    package func withLogin(
        password: String,
        _ body: (_ address: String, _ name: String) async throws -> Void
    ) async throws {
        let name = "bird_\(database.connection.backendProcessID)"
        let here = try #require(try await database.value("current_database()"))
        let url = try await TestCluster.shared.loopbackURL(database: here)
        let address = String(try #require(url.split(separator: "@").last))
        try await database.run("CREATE ROLE \(name) LOGIN PASSWORD '\(password)'; GRANT carillon_worker TO \(name)")
        try await attempt {
            try await body(address, name)
        } finally: {
            try await database.run("DROP OWNED BY \(name); DROP ROLE \(name)")
        }
    }
}
