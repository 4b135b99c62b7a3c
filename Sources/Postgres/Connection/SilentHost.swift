import CarillonIO

/// The host that was last found silent: further connections try it after all others.
package final class SilentHost: Sendable {
    private let last = Guarded<ServerAddress?>(nil)

    package init() {}

    package var server: ServerAddress? { last.withLock { $0 } }

    package func note(_ server: ServerAddress) { last.withLock { $0 = server } }
}
