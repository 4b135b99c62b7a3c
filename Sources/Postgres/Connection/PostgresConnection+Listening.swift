extension PostgresConnection {
    /// Calls the handler on the loop after notifications on the channel have arrived, and when the session ends, which may lose some.
    /// Behind a pooler, none would arrive.
    package func listen(to channel: String, _ handler: @escaping @Sendable () -> Void) async throws(PostgresError) {
        heard = handler
        do throws(PostgresError) {
            try await execute(Statement("listen_to_\(channel)", "LISTEN \(channel)"))
        } catch {
            heard = nil
            throw error
        }
    }

    package var isListening: Bool { heard != nil }
}
