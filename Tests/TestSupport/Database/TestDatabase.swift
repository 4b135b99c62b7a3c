package import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

/// A database for one test, in the cluster that all tests of the process share, and a session in it. The database is
/// dropped when the body of `with` ends.
package struct TestDatabase: Sendable {
    /// What the database contains at first.
    package enum Contents: Sendable {
        case nothing
        /// The schema, copied from a database that was migrated once.
        case schema
    }

    package let url: String
    package let connection: PostgresConnection

    package static func with<R>(
        _ contents: Contents,
        _ body: (_ database: TestDatabase) async throws -> R
    ) async throws -> R {
        try await unconnected(contents) { url in
            try await open(url, body)
        }
    }

    /// The same, for tests of the session itself.
    package static func connected<R>(
        _ contents: Contents,
        _ body: (_ connection: PostgresConnection, _ url: String) async throws -> R
    ) async throws -> R {
        try await with(contents) { database in
            try await body(database.connection, database.url)
        }
    }

    /// The same, without a session.
    package static func unconnected<R>(
        _ contents: Contents,
        _ body: (_ url: String) async throws -> R
    ) async throws -> R {
        let copies = try await DatabaseCopies.shared
        let name = try await copies.create(contents)
        return try await attempt {
            try await body(TestCluster.patientURL(database: name))
        } finally: {
            try await copies.drop(name)
        }
    }

    /// Applies all migrations, for tests with a cluster of their own, and creates the logins there.
    package static func migrate(_ url: String) async throws {
        try await open(url) { database in
            _ = try await Migrator(database.connection).up()
            try await database.run(TestLogin.creation)
        }
    }

    /// Another session in the same database, by default of the same role.
    package func session<R>(
        as role: String? = nil,
        _ body: (_ database: TestDatabase) async throws -> R
    ) async throws -> R {
        try await Self.open(url + (role.map { "&user=\($0)" } ?? ""), body)
    }

    /// A session in a database of a cluster of its own.
    package static func open<R>(_ url: String, _ body: (TestDatabase) async throws -> R) async throws -> R {
        let connection = try await PostgresConnection.connect(url, timeout: TestCluster.connectTimeout)
        return try await attempt {
            try await body(TestDatabase(url: url, connection: connection))
        } finally: {
            await connection.close()
        }
    }
}

extension TestDatabase {
    /// Runs any statements.
    package func run(_ sql: String) async throws {
        try await connection.script(sql)
    }

    /// The rows of a query, each as PostgreSQL writes a row: "(1,two,)".
    package func rows(_ query: String) async throws -> [String] {
        try await texts("SELECT q::text FROM (\(query)) q")
    }

    /// The only value of a query, as text; nil is null.
    package func value(_ query: String) async throws -> String? {
        try await ask("SELECT (\(query))::text") { rows in try rows.stringIfPresent(0, 0) }
    }

    /// The only value of a query, a number.
    package func number(_ query: String) async throws -> Int {
        try await ask("SELECT (\(query))::int8") { rows in Int(try rows.int64(0, 0)) }
    }

    /// The lines of a plan that say how rows are found.
    package func plan(_ query: String, _ options: String = "COSTS off") async throws -> String {
        try await texts("EXPLAIN (\(options)) \(query)").joined(separator: "\n")
    }

    private func texts(_ sql: String) async throws -> [String] {
        try await ask(sql) { rows in try rows.indices.map { try rows.string($0, 0) } }
    }

    private func ask<R: Sendable>(_ sql: String, _ decode: @Sendable (borrowing Rows) throws -> R) async throws -> R {
        try await connection.query(sql, Parameters(), decode)
    }
}
