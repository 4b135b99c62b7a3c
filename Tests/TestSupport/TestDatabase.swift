package import Postgres
import Synchronization

/// A fresh database in the tests' cluster, for one test.
package enum TestDatabase {
    private static let number = Atomic<Int>(0)
    /// Databases are made one after the other: they are copies, and their model must be left alone meanwhile.
    private static let administration = Task {
        try await PostgresConnection.connect(
            TestCluster.shared.url(),
            on: TestLoop.shared,
            application: "test databases"
        )
    }

    /// Gives the body the URL of an empty database, or a copy of another, which is gone when the body is through.
    package static func with<R>(
        copyOf model: String = "template0",
        _ body: (_ url: String) async throws -> R
    ) async throws -> R {
        let administration = try await self.administration.value
        let name = "test_\(self.number.wrappingAdd(1, ordering: .relaxed).newValue)"
        try await administration.script("CREATE DATABASE \(name) TEMPLATE \(model)")
        return try await attempt {
            try await body(try await TestCluster.shared.url(database: name))
        } finally: {
            try await administration.script("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    /// The same, with a connection to it.
    package static func connected<R>(
        copyOf model: String = "template0",
        _ body: (_ connection: PostgresConnection, _ url: String) async throws -> R
    ) async throws -> R {
        try await self.with(copyOf: model) { url in
            let connection = try await PostgresConnection.connect(url, on: TestLoop.shared, application: "test")
            return try await attempt {
                try await body(connection, url)
            } finally: {
                await connection.close()
            }
        }
    }
}
