import CarillonIO

/// The host that was last found silent: further connections try it after all others, and sessions that wait for it leave it once
/// another has.
package final class SilentHost: Sendable {
    private let last = Guarded<(server: ServerAddress, leftAt: MonotonicInstant?)?>(nil)

    package init() {}

    package var server: ServerAddress? { last.withLock { $0?.server } }

    /// It did not answer a new connection, which may be for lack of a place in a pooler.
    func note(_ server: ServerAddress) {
        last.withLock { last in if last?.server != server { last = (server, nil) } }
    }

    /// It answered no statement, so its sessions were closed.
    package func left(_ server: ServerAddress) { last.withLock { $0 = (server, .now) } }

    func isLeft(_ server: ServerAddress, since time: MonotonicInstant) -> Bool {
        last.withLock { last in last?.server == server && last?.leftAt.map { $0 > time } ?? false }
    }
}
