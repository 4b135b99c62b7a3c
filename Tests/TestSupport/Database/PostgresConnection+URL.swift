package import CarillonIO
package import CarillonPostgres

extension PostgresConnection {
    /// Connects by a URL that stays the same.
    package static func connect(
        _ url: String,
        on loop: EventLoop = TestLoop.shared,
        application: String = "test",
        to kind: ServerKind = .any,
        settings: SessionSettings = [:],
        timeout: Duration = .seconds(10)
    ) async throws(PostgresError) -> PostgresConnection {
        try await connect(
            DatabaseSource(url),
            on: loop,
            application: application,
            to: kind,
            settings: settings,
            timeout: timeout
        )
    }
}
