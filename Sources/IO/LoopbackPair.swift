import CLinux
import Glibc

/// Two TCP sockets of this machine, connected with each other: unlike a ``SocketPair``, they can be reset.
package struct LoopbackPair: ~Copyable, Sendable {
    package let near: Socket
    package let far: Socket

    package init() throws(IOError) {
        guard let any = try Resolver.lookUpNow("127.0.0.1", port: 0).first else {
            throw IOError(.unresolvable, "this machine has no loopback address")
        }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = try Socket(owning: SystemCall.check("making a socket") { socket(any.family, kind, 0) })
        _ = try SystemCall.check("binding a socket") { any.withPointer { bind(listener.descriptor, $0, $1) } }
        _ = try SystemCall.check("listening") { listen(listener.descriptor, 1) }
        let address = try SocketAddress(boundTo: listener.descriptor)
        let near = try Socket(owning: SystemCall.check("making a socket") { socket(any.family, kind, 0) })
        // On the loopback that is done at once.
        let isConnected = address.withPointer { connect(near.descriptor, $0, $1) } == 0
        guard isConnected || errno == EINPROGRESS else { throw IOError(errno: errno, doing: "connecting") }
        let own = try SocketAddress(boundTo: near.descriptor)
        let far = try Self.accept(from: own, on: listener.descriptor)
        near.setNoDelay()
        far.setNoDelay()
        self.near = near
        self.far = far
    }

    /// Gives both descriptors away, unclosed.
    package consuming func release() -> (near: CInt, far: CInt) { (near.release(), far.release()) }

    /// Whoever else has found the port meanwhile is turned away.
    private static func accept(from own: SocketAddress, on listener: CInt) throws(IOError) -> Socket {
        while true {
            let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let accepted = try SystemCall.check("accepting a connection") { accept4(listener, nil, nil, flags) }
            let socket = Socket(owning: accepted)
            if try SocketAddress(connectedTo: accepted) == own { return socket }
        }
    }
}
