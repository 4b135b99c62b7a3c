/// What a server allows its clients, so that none of them can take it down.
package struct Limits: Sendable {
    package var connections = 256
    package var connectionsPerAddress = 64
    /// Silence after which a connection is closed.
    package var idleSeconds = 15
    package var bodyBytes = 64 * 1024
    /// A request's line and headers have to fit in this, and what is answered at a time.
    package var memoryPerConnection = 32 * 1024

    package init() {}
}
