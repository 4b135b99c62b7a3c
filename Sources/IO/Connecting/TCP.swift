package enum TCP {
    /// A connection, and how it was made.
    package struct Connection: ~Copyable {
        private let socket: Socket
        package let address: SocketAddress
        /// The addresses that were tried before `address` and failed or were slower.
        package let slower: [SocketAddress]

        init(_ socket: consuming Socket, slower: [SocketAddress]) throws(IOError) {
            address = try SocketAddress(connectedTo: socket.descriptor)
            self.socket = socket
            self.slower = slower
        }

        package consuming func takeSocket() -> Socket { socket }
    }

    /// Connects to the first of the host's addresses that answers. The name is looked up each time, off the loop; nothing is
    /// cached.
    package static func connect(
        host: String,
        port: UInt16,
        timeout: Duration,
        on loop: EventLoop
    ) async throws(IOError) -> Socket {
        try await race(host: host, port: port, timeout: timeout, on: loop) { $0 }.takeSocket()
    }

    /// The same, for callers that know which addresses to prefer and remember which one connected.
    package static func race(
        host: String,
        port: UInt16,
        timeout: Duration,
        on loop: EventLoop,
        order: @escaping @Sendable ([SocketAddress]) -> [SocketAddress]
    ) async throws(IOError) -> Connection {
        let connector = TCPConnector(host: host, port: port, timeout: timeout, on: loop, order: order)
        let socket = try await Socket(owning: connector.connect().get())
        return try Connection(socket, slower: await connector.slower)
    }
}
