import CLinux
import Glibc

/// Accepts connections on a port, on a loop. Closed by `close()` or when its owner lets go of it.
package final class Listener: Sendable {
    /// What the loop works with; it keeps itself alive by the watch until it is closed.
    private actor Door {
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

        deinit {
            Glibc.close(descriptor)
        }

        func open() throws(IOError) {
            watch = try loop.watch(descriptor, for: .read) { _ in self.acceptAll() }
        }

        func close() {
            if let watch = self.watch.take() { loop.cancel(watch) }
            if let pause = self.pause.take() { loop.cancel(pause) }
        }

        private func acceptAll() {
            // A bound, so that a flood of connections does not starve those that are open.
            for _ in 0..<64 where watch != nil {
                let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                let accepted = accept4(descriptor, nil, nil, flags)
                guard accepted >= 0 else { return refused(errno) }
                let socket = Socket(owning: accepted)
                socket.setNoDelay()
                accept(socket)
            }
        }

        /// Without descriptors the waiting connection keeps the listener ready, so it rests instead of spinning. Any
        /// other failure is of that one connection, which is gone.
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
    private let door: Guarded<Door?>

    /// Listens from here on; port 0 takes a free one. `accept` is called on the loop, for each connection. A host given
    /// by name is looked up at once, which may block.
    package init(
        host: String,
        port: UInt16,
        on loop: EventLoop,
        accept: @escaping @Sendable (consuming Socket) -> Void
    ) throws(IOError) {
        let socket = try Self.bind(host: host, port: port)
        self.port = try SocketAddress(boundTo: socket.descriptor).port
        self.loop = loop
        descriptor = socket.descriptor
        let door = Door(socket.release(), on: loop, accept: accept)
        self.door = Guarded(door)
        if loop.isCurrent {
            try Self.open(door)
        } else {
            // Connections wait in the kernel's queue meanwhile.
            let isRunning = loop.submit {
                do {
                    try Self.open(door)
                } catch {
                    preconditionFailure("a descriptor made a moment ago cannot be watched: \(error)")
                }
            }
            guard isRunning else { throw IOError(.cancelled, "the loop \(loop.name) has stopped") }
        }
    }

    deinit {
        close()
    }

    /// When this returns nobody can connect any more, and the port is free again.
    package func close() {
        guard let door = self.door.withLock({ $0.take() }) else { return }
        // The door holds the descriptor open until the loop has forgotten it; the port must not wait for that.
        shutdown(descriptor, CInt(SHUT_RDWR))
        loop.submit { door.assumeIsolated { $0.close() } }
    }

    private static func open(_ door: Door) throws(IOError) {
        do {
            try door.assumeIsolated { try $0.open() }
        } catch let error as IOError {
            throw error
        } catch {
            preconditionFailure("watching throws nothing else: \(error)")
        }
    }

    private static func bind(host: String, port: UInt16) throws(IOError) -> Socket {
        guard let address = try Resolver.lookUpNow(host, port: port).first else {
            throw IOError(.unresolvable, "the host name \(host) has no address")
        }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = try Socket(owning: SystemCall.check("making a socket") { Glibc.socket(address.family, kind, 0) })
        var yes: CInt = 1
        setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout.size(ofValue: yes)))
        guard address.withPointer({ Glibc.bind(socket.descriptor, $0, $1) }) == 0, listen(socket.descriptor, 1024) == 0
        else { throw Self.refusal(errno, address) }
        return socket
    }

    private static func refusal(_ number: CInt, _ address: SocketAddress) -> IOError {
        let code = IOError.Code(errno: number)
        let sentence =
            switch code {
            case .addressInUse:
                "port \(address.port) is in use on \(address.host): stop the program that listens there or choose another port"
            case .addressUnavailable:
                "\(address.host) is not an address of this machine: listen on one that is, or on 127.0.0.1"
            case .forbidden:
                "listening on port \(address.port) is not allowed: choose a port above 1023, or run with the right to it"
            default:
                "listening on \(address) failed: \(IOError.text(of: number))"
            }
        return IOError(code, sentence, errno: number)
    }
}
