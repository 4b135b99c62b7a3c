/// The limits that protect a server from its clients.
package struct ClientLimits: Sendable {
    /// Once 15/16 of these are open, each new connection closes the one that has been idle longest.
    package var connections = 256
    /// A connection is closed after this long without traffic.
    package var idleSeconds = 15
    package var bodyBytes = 64 * 1024
    /// The bytes of the bodies of more than 8 KB that are received or handled at once. With more, the one that has been arriving
    /// for longest is refused.
    package var largeBodyBytes = 2 << 20
    /// The bytes of the responses of more than 8 KB that are being sent. With more, the connection that has been sending for longest
    /// is closed.
    package var largeResponseBytes = 8 << 20
    /// The rest of a refused body is read and discarded, up to this many times `bodyBytes`, because a client that is still writing
    /// does not read the response.
    var discardedBodies = 8
    /// The request line plus headers: see `Exchange.memory(on:)`.
    let headBytes = 32 * 1024

    package init() {}

    /// Also for the head of the response, whose longest header is a `Location`: see `Link`.
    var memoryPerConnection: Int { headBytes + 16 * 1024 }

    var maxDiscarded: Int { bodyBytes * discardedBodies }
}
