import CarillonIO
import CarillonPostgres
import TestSupport

/// The session in which a case queries and enqueues. It is made again whenever it was lost.
actor SceneClient {
    /// The application name of `session`.
    static let sessionName = "test session"

    nonisolated let url: String
    private nonisolated let loop: EventLoop
    /// Cases set timeouts of their database, which must not end what the case itself does.
    private static let settings: SessionSettings = [
        "statement_timeout": "0", "lock_timeout": "0", "transaction_timeout": "0", "idle_session_timeout": "0",
    ]
    private var connection: PostgresConnection?

    init(_ url: String, on loop: EventLoop) {
        self.url = url
        self.loop = loop
    }

    func run(_ sql: String) async throws {
        try await connected().script(sql)
    }

    func number(_ sql: String) async throws -> Int {
        try await query("SELECT (\(sql))::int8") { rows in Int(try rows.int64(0, 0)) }
    }

    func text(_ sql: String) async throws -> String {
        try await query("SELECT coalesce((\(sql))::text, '')") { rows in try rows.string(0, 0) }
    }

    func query<R: Sendable>(
        _ sql: String,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await connected().query(sql, parameters, decode)
    }

    /// Another session, for open transactions. It is closed after the body, with all its locks.
    func session<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        let connection = try await PostgresConnection.connect(url, on: loop, application: Self.sessionName)
        return try await attempt {
            try await body(connection)
        } finally: {
            await connection.close()
        }
    }

    func close() async {
        await connection?.close()
        connection = nil
    }

    func connected() async throws -> PostgresConnection {
        if let connection, await !connection.isClosed { return connection }
        let fresh = try await PostgresConnection.connect(
            url,
            on: loop,
            application: "test client",
            settings: Self.settings
        )
        connection = fresh
        return fresh
    }
}
