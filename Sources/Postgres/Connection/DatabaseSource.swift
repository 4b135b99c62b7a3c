package import IO

/// What says where the database is: a connection string, or something that is asked again for each connection, as a file
/// whose password changes while the program runs.
package struct DatabaseSource: Sendable {
    private let ask: @Sendable () throws(PostgresError) -> String

    /// The same string for every connection.
    package init(_ string: String) {
        ask = { () throws(PostgresError) in string }
    }

    package init(asking ask: @escaping @Sendable () throws(PostgresError) -> String) {
        self.ask = ask
    }

    /// What it says now.
    package func current() throws(PostgresError) -> String { try ask() }
}

extension PostgresConnection {
    /// Connects with what the source says at this moment.
    package static func connect(
        _ source: DatabaseSource,
        on loop: EventLoop,
        application: String,
        to kind: ServerKind = .any,
        settings: SessionSettings = [:],
        timeout: Duration = .seconds(10)
    ) async throws(PostgresError) -> PostgresConnection {
        try await connect(
            try source.current(),
            on: loop,
            application: application,
            to: kind,
            settings: settings,
            timeout: timeout
        )
    }
}
