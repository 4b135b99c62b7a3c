/// The limits that protect a server from its clients.
package struct Limits: Sendable {
    package var connections = 256
    package var connectionsPerAddress = 64
    /// A connection is closed after that long without traffic.
    package var idleSeconds = 15
    package var bodyBytes = 64 * 1024
    /// The maximum size of the request line with the headers, and of a piece of the response.
    package var memoryPerConnection = 32 * 1024

    package init() {}
}
