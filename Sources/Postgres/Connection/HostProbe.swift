import CarillonIO

/// Asks the host of a session for a sign of life, over a new connection. Every answer counts, even a refusal.
struct HostProbe: Sendable {
    /// As long as connecting to a host may take.
    private static let limit = Duration.seconds(10)

    let string: ConnectionString
    let application: String
    let host: HostList

    /// Calls `told` on a thread of its own. If it cannot ask, the host counts as alive.
    func start(_ told: @escaping @Sendable (_ isAlive: Bool) -> Void) {
        do {
            try Thread.detach(name: "pg-probe") {
                let connector = PostgresConnector(string, application: application, at: host, Self.limit)
                told(connector.isAnswered())
            }
        } catch {
            told(true)
        }
    }
}
