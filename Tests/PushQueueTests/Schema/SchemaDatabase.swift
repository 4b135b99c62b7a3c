import Postgres
import PushQueue
import TestSupport

/// A fresh database with the whole schema, a credential and an app named "demo", and ways to ask it in one line.
struct SchemaDatabase {
    let connection: PostgresConnection
    let url: String

    /// Migrated once; every test has a copy of it.
    private static let model = Task {
        let name = "schema_model"
        let administration = try await PostgresConnection.connect(
            TestCluster.shared.url(),
            on: TestLoop.shared,
            application: "test"
        )
        try await administration.script("CREATE DATABASE \(name) TEMPLATE template0")
        await administration.close()
        let connection = try await PostgresConnection.connect(
            TestCluster.shared.url(database: name),
            on: TestLoop.shared,
            application: "test"
        )
        _ = try await Migrator(connection).up()
        try await connection.script(
            """
            INSERT INTO carillon.certificates (name, certificate) VALUES ('main', 'unread');
            INSERT INTO carillon.apps (name, topic, certificate_id) VALUES ('demo', 'com.example.demo', 1)
            """
        )
        await connection.close()
        return name
    }

    static func with<R>(_ body: (SchemaDatabase) async throws -> R) async throws -> R {
        try await TestDatabase.connected(copyOf: try await self.model.value) { connection, url in
            try await body(SchemaDatabase(connection: connection, url: url))
        }
    }

    /// Runs any statements.
    func run(_ sql: String) async throws {
        try await self.connection.script(sql)
    }

    /// The rows of a query, each as PostgreSQL writes a row: "(1,two,)".
    func rows(_ query: String) async throws -> [String] {
        try await self.texts("SELECT q::text FROM (\(query)) q")
    }

    /// The only value of a query, as text; nil is null.
    func value(_ query: String) async throws -> String? {
        try await self.ask("SELECT (\(query))::text") { rows in try rows.stringIfPresent(0, 0) }
    }

    /// Another session of the same database.
    func session<R>(_ body: (SchemaDatabase) async throws -> R) async throws -> R {
        let other = try await PostgresConnection.connect(self.url, on: TestLoop.shared, application: "test")
        do {
            let result = try await body(SchemaDatabase(connection: other, url: self.url))
            await other.close()
            return result
        } catch {
            await other.close()
            throw error
        }
    }

    /// The lines of a plan that say how rows are found.
    func plan(_ query: String, _ options: String = "COSTS off") async throws -> String {
        try await self.texts("EXPLAIN (\(options)) \(query)").joined(separator: "\n")
    }

    private func texts(_ sql: String) async throws -> [String] {
        try await self.ask(sql) { rows in try rows.indices.map { try rows.string($0, 0) } }
    }

    private func ask<R: Sendable>(_ sql: String, _ decode: @Sendable (borrowing Rows) throws -> R) async throws -> R {
        // One name, one statement: the text itself tells them apart.
        try await self.connection.query(Statement("q\(UInt(bitPattern: sql.hashValue))", sql), Parameters(), decode)
    }
}
