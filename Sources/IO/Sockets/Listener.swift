import CarillonPOSIX

/// Accepts connections on a port, on a loop, until `close()` or the last reference to it is gone.
package final class Listener: Sendable {
    /// What lives on the loop. Its watch keeps it alive until it is closed.
    private actor Acceptor {
        private let descriptor: CInt
        private let loop: EventLoop
        private let accept: @Sendable (consuming Socket) -> Void
        private var watch: WatchToken?
        private var pause: TimerToken?

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ descriptor: CInt, on loop: EventLoop, accept: @escaping @Sendable (consuming Socket) -> Void) {
            self.descriptor = descriptor
            self.loop = loop
            self.accept = accept
        }

        deinit { CarillonPOSIX.close(descriptor) }

        func open() {
            do {
                watch = try loop.watch(descriptor, for: .read) { _ in self.acceptAll() }
            } catch {
                preconditionFailure("a new descriptor cannot be watched: \(error)")
            }
        }

        func close() {
            if let watch = self.watch.take() { loop.cancel(watch) }
            if let pause = self.pause.take() { loop.cancel(pause) }
        }

        private func acceptAll() {
            // A bound, so that a flood of connections does not starve those that are open.
            for _ in 0..<64 where watch != nil {
                do {
                    accept(try Socket.accepted(on: descriptor))
                } catch {
                    return refused(error.errno)
                }
            }
        }

        /// Without descriptors or memory the waiting connection keeps the listener ready, so it pauses instead of spinning.
        /// Any other failure belongs to that one connection, which is gone.
        private func refused(_ number: CInt) {
            guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number), let watch = self.watch else { return }
            loop.update(watch, to: [])
            pause = loop.schedule(at: .now + .milliseconds(100)) { self.resume() }
        }

        private func resume() {
            pause = nil
            if let watch = self.watch { loop.update(watch, to: .read) }
        }
    }

    package let port: UInt16
    private let loop: EventLoop
    private let descriptor: CInt
    private let acceptor: Guarded<Acceptor?>

    /// See ``ListeningSocket`` for host and port. `accept` is called on the loop, for each connection.
    package init(
        host: String,
        port: UInt16,
        on loop: EventLoop,
        accept: @escaping @Sendable (consuming Socket) -> Void
    ) throws(IOError) {
        let socket = try ListeningSocket(host: host, port: port)
        self.port = socket.port
        self.loop = loop
        descriptor = socket.descriptor
        let acceptor = Acceptor(socket.release(), on: loop, accept: accept)
        self.acceptor = Guarded(acceptor)
        // Connections wait in the kernel's queue meanwhile.
        guard loop.submit({ acceptor.assumeIsolated { $0.open() } }) else {
            throw IOError(.cancelled, "the loop \(loop.name) has stopped")
        }
    }

    deinit { close() }

    /// When this returns, no client can connect any more and the port is free.
    package func close() {
        guard let acceptor = self.acceptor.withLock({ $0.take() }) else { return }
        // The acceptor holds the descriptor open until the loop has cancelled its watch; the port must not wait for that.
        shutdown(descriptor, CInt(SHUT_RDWR))
        loop.submit { acceptor.assumeIsolated { $0.close() } }
    }
}
