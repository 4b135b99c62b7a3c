/// Connections over TCP.
package enum TCP {
    /// Connects to the first of the host's addresses that answers. The name is looked up afresh each time, off the
    /// loop, and nothing is remembered: what to do about a host that fails is the caller's to decide.
    package static func connect(
        host: String,
        port: UInt16,
        timeout: Duration,
        on loop: EventLoop
    ) async throws(IOError) -> Socket {
        let connector = Connector(host: host, port: port, timeout: timeout, on: loop)
        return try await Socket(owning: connector.connect().get())
    }

    /// The same, for callers who know more of the addresses than the name server does: they put them in order, and learn
    /// which one it was.
    package static func race(
        host: String,
        port: UInt16,
        timeout: Duration,
        on loop: EventLoop,
        order: @escaping @Sendable ([SocketAddress]) -> [SocketAddress]
    ) async throws(IOError) -> Line {
        let connector = Connector(host: host, port: port, timeout: timeout, on: loop, order: order)
        let socket = try await Socket(owning: connector.connect().get())
        let address = try SocketAddress(connectedTo: socket.descriptor)
        let slower = await connector.slower
        return Line(socket, to: address, slower: slower)
    }
}
