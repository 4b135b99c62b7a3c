import CarillonCMicroHTTP
package import CarillonIO

/// A small HTTP server for metrics, health and pages: a table of routes on one address. libmicrohttpd runs the
/// protocol on a thread of its own; handlers are ordinary tasks.
package final class WebServer: Sendable {
    /// What a server does to protect itself, for logs. Reported on libmicrohttpd's thread.
    package enum Event: Sendable {
        /// The connection that had been idle longest was closed, because the limit was nearly reached.
        case idleConnectionClosed
        /// No further client is accepted until one of the requests under way has been answered.
        case allConnectionsBusy
        case bodyRefused
        /// The connection that had been sending a large response for longest was closed, because another one needed the memory.
        case slowClientClosed
    }

    package typealias Admission = @Sendable (Request) -> Response?

    private let host: String
    private let wantedPort: UInt16
    private let exchanges: ExchangeTable
    private let running = Guarded<Running?>(nil)

    private struct Running {
        /// Safe, because it is used only with the lock held, and `stop` removes it under the lock.
        nonisolated(unsafe) let daemon: OpaquePointer
        let port: UInt16
    }

    /// Port 0 lets the system choose a port.
    ///
    /// - Parameters:
    ///   - admission: checks a request by its headers, before its body is kept. If it returns a response, the request is refused
    ///     with it.
    ///   - refusing: writes the response to a request that reaches no handler. If the address or the body was refused, the request
    ///     has no query and no body.
    ///   - observer: must return at once.
    package init(
        host: String,
        port: UInt16,
        limits: ClientLimits = ClientLimits(),
        admission: Admission? = nil,
        refusing: @escaping HTTPRefusal.Writing = { refusal, _ in refusal.response },
        observer: (@Sendable (Event) -> Void)? = nil,
        routes: [Route]
    ) {
        self.host = host
        wantedPort = port
        exchanges = ExchangeTable(RouteTable(routes), limits, admission, refusing, observer)
    }

    deinit { stop() }

    /// The port that it listens on; 0 before it listens.
    package var port: UInt16 {
        running.withLock { running in
            if let running { running.port } else { 0 }
        }
    }

    package func start() throws(IOError) {
        let socket = try ListeningSocket(host: host, port: wantedPort)
        let port = socket.port
        let limits = self.exchanges.limits
        let flags = MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue | MHD_USE_ITC.rawValue
        let descriptor = socket.release()
        var options = [
            MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(descriptor), ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: limits.connections, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: limits.idleSeconds, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: limits.memoryPerConnection, ptr_value: nil),
            MHD_OptionItem(option: .STRICT_FOR_CLIENT, value: 1, ptr_value: nil),
            MHD_OptionItem(option: .END, value: 0, ptr_value: nil),
        ]
        let daemon = cmicrohttp_start(
            flags,
            { context, connection, path, method, version, upload, size, slot in
                guard let context, let connection, let path, let method, let version, let size, let slot else {
                    return .NO
                }
                // Still alive: this thread ends before `exchanges` is freed.
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                let uploaded = UnsafeRawBufferPointer(start: upload, count: size.pointee)
                size.pointee = 0
                return exchanges.called(connection, method, path, version, uploaded, slot)
            },
            { context, connection, slot, _ in
                guard let context, let connection, let slot else { return }
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                // Release the reference that `ExchangeTable` left in the slot. libmicrohttpd calls this once per request, as its
                // last call.
                let exchange = slot.pointee.map { Unmanaged<Exchange>.fromOpaque($0).takeRetainedValue() }
                slot.pointee = nil
                exchanges.ended(on: connection, exchange)
            },
            { context, connection, _, event in
                guard let context, let connection else { return }
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                if event == .CONNECTION_NOTIFY_STARTED {
                    exchanges.opened(connection)
                } else {
                    exchanges.closed(connection)
                }
            },
            { context, target, connection in
                guard let context, let target, let connection else { return nil }
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                exchanges.arrived(target, on: connection)
                return nil
            },
            // Leave paths and queries as sent: after decoding, a slash in a name would separate path segments, and a null character
            // would end the path.
            { _, _, text in
                var length = 0
                while let text, text[length] != 0 { length += 1 }
                return length
            },
            // `exchanges` lives as long as this server, which waits for the daemon to end.
            Unmanaged.passUnretained(self.exchanges).toOpaque(),
            &options
        )
        guard let daemon else {
            _ = Socket(owning: descriptor)
            throw IOError(
                .exhausted,
                "The HTTP server cannot start: it lacks descriptors, threads or memory. Raise the limits (ulimit -n)."
            )
        }
        running.withLock { $0 = Running(daemon: daemon, port: port) }
    }

    /// Stops accepting connections, and waits until all requests have been answered or the time is up. New requests on open
    /// connections are refused.
    package func drain(on loop: EventLoop, within limit: Duration) async {
        let listener = running.withLock { running in running.map { MHD_quiesce_daemon($0.daemon) } }
        // libmicrohttpd returns the descriptor, which is ours to close.
        if let listener, listener >= 0 { _ = Socket(owning: listener) }
        let (idle, input) = AsyncStream<Void>.makeStream()
        exchanges.refuseMore { input.finish() }
        let timer = Task {
            try? await loop.sleep(for: limit)
            input.finish()
        }
        for await _ in idle {}
        timer.cancel()
    }

    /// Cancels the requests under way, closes all connections and joins the thread. A server cannot be started again.
    package func stop() {
        running.withLock { running in
            guard let daemon = running?.daemon else { return }
            exchanges.close()
            MHD_stop_daemon(daemon)
            running = nil
        }
    }
}
