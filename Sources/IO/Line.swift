/// A connection that was made, and what was learnt on the way.
package struct Line: ~Copyable {
    private let socket: Socket
    /// Where it leads.
    package let address: SocketAddress
    /// The addresses that were tried before that one, and failed or were slower.
    package let slower: [SocketAddress]

    init(_ socket: consuming Socket, to address: SocketAddress, slower: [SocketAddress]) {
        self.socket = socket
        self.address = address
        self.slower = slower
    }

    /// The connection itself, which is then the caller's.
    package consuming func takeSocket() -> Socket { socket }
}
