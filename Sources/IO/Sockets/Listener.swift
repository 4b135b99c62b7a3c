import Glibc

/// Accepts connections on a port, on a loop, until `close()` is called or the last reference is gone.
package final class Listener: Sendable {
    /// The part that runs on the loop. Its watch keeps it alive until it is closed.
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

        deinit { Glibc.close(descriptor) }

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
            // Bounded, so that a flood of new connections does not starve the open ones.
            for _ in 0..<64 where watch != nil {
                do {
                    accept(try Socket.accepted(on: descriptor))
                } catch {
                    return refused(error.errno)
                }
            }
        }

        /// When descriptors or memory run out, the waiting connection keeps the listener ready, so accepting pauses instead of
        /// spinning. Any other failure concerns only that connection, which is gone.
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

    /// See ``ListeningSocket`` for the host and the port. `accept` is called on the loop for each connection.
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
        // Until the loop runs this, connections wait in the kernel's queue.
        guard loop.submit({ acceptor.assumeIsolated { $0.open() } }) else {
            throw IOError(.cancelled, "the loop \(loop.name) has stopped")
        }
    }

    deinit { close() }

    /// When this returns, no client can connect and the port is free.
    package func close() {
        guard let acceptor = self.acceptor.withLock({ $0.take() }) else { return }
        // The acceptor keeps the descriptor open until the loop has cancelled its watch; shutting the socket down frees the port
        // now.
        shutdown(descriptor, CInt(SHUT_RDWR))
        loop.submit { acceptor.assumeIsolated { $0.close() } }
    }
}
