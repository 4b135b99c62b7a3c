package import CarillonIO

/// A port of this machine that neither accepts nor refuses: its queue of waiting connections is full, so the kernel drops
/// new connections, as if the network had lost their packets.
package struct SilentPort: ~Copyable {
    private let listener: ListeningSocket
    private let fillers: [CInt]

    package var address: SocketAddress { listener.address }
    package var port: UInt16 { listener.port }

    /// - Parameter port: 0 lets the system choose.
    package init(host: String, port: UInt16 = 0) throws {
        let listener = try ListeningSocket(host: host, port: port, backlog: 0)
        fillers = try (0..<8).map { _ in try Socket.connecting(to: listener.address).release() }
        self.listener = listener
    }

    deinit {
        for filler in fillers { _ = Socket(owning: filler) }
    }
}
