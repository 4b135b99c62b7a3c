/// Two TCP sockets on this machine, connected to each other. Unlike a ``SocketPair``, they can be reset.
package struct LoopbackPair: ~Copyable, Sendable {
    package let near: Socket
    package let far: Socket

    package init() throws(IOError) {
        let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
        // On the loopback interface this completes at once.
        let near = try Socket.connecting(to: listener.address)
        near.setNoDelay()
        let own = try SocketAddress(boundTo: near.descriptor)
        // Another program may have connected to the port in the meantime.
        while true {
            let far = try Socket.accepted(on: listener.descriptor)
            guard try SocketAddress(connectedTo: far.descriptor) == own else { continue }
            self.near = near
            self.far = far
            return
        }
    }

    /// Gives up both descriptors without closing them.
    package consuming func release() -> (near: CInt, far: CInt) { (near.release(), far.release()) }
}
