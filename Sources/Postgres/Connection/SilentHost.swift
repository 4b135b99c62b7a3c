import CarillonIO

/// The host that was last found silent: further connections try it after all others.
package final class SilentHost: Sendable {
    private let last = Guarded<ServerPlace?>(nil)

    package init() {}

    package var place: ServerPlace? { last.withLock { $0 } }

    package func note(_ place: ServerPlace) { last.withLock { $0 = place } }
}
