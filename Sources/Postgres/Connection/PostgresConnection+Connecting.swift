package import CarillonIO

extension PostgresConnection {
    /// Connects by libpq's rules: a URL, a list of keywords, or the empty string for the `PG*` variables. The time limit applies to
    /// each host. A host that does not answer soon is tried again after the others. Close the connection before stopping the loop.
    /// - Parameter silence: when the session ends if the server no longer answers.
    package static func connect(
        _ source: DatabaseSource,
        on loop: EventLoop,
        application: String,
        to kind: ServerKind = .any,
        settings: SessionSettings = [:],
        timeout: Duration = .seconds(10),
        silence: SilencePolicy = .wait
    ) async throws(PostgresError) -> PostgresConnection {
        let string = try ConnectionString(source.current())
        let timeout = string.timeout ?? timeout
        let silentHost = source.silentHost
        var others = string.hostCount - 1
        while true {
            let connector = PostgresConnector(string, application: application, to: kind, timeout, silentHost)
            let connection = PostgresConnection(try await connector.connect(on: loop), kind, settings, on: loop)
            try await connection.begin()
            let probe = HostProbe(string: string, application: application, host: connection.host)
            let silence = SilenceGuard(silence, probe, silentHost)
            // A host that was silent before is only reached if no other can be used.
            let isLast = others <= 0 || silentHost.server == connection.server
            do throws(PostgresError) {
                try await connection.greet(within: isLast ? timeout : connector.brief, then: silence)
                return connection
            } catch {
                await connection.close()
                guard error.isSilence else { throw error }
                silentHost.note(connection.server)
                if isLast { throw error }
                others -= 1
            }
        }
    }
}
