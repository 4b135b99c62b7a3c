/// The limits that protect a server from its clients.
package struct Limits: Sendable {
    /// From 15/16 of them on, the connection that was idle longest is closed when another comes.
    package var connections = 256
    package var connectionsPerAddress = 64
    /// A connection is closed after this long without traffic.
    package var idleSeconds = 15
    package var bodyBytes = 64 * 1024
    /// The rest of a body that is refused is read, up to this many times `bodyBytes`: clients that still write do not read the
    /// response.
    var discardedBodies = 8
    /// The maximum size of the request line with the headers, and of a piece of the response.
    package var memoryPerConnection = 32 * 1024

    package init() {}

    var mostDiscarded: Int { bodyBytes * discardedBodies }
}
