import CarillonCMicroHTTP
package import CarillonIO
import Synchronization

/// A small HTTP server for metrics, health and pages: a table of routes on one address. libmicrohttpd runs the
/// protocol on a thread of its own; handlers are ordinary tasks.
package final class WebServer: Sendable {
    package typealias Admission = @Sendable (Request) -> Response?

    private let host: String
    private let wantedPort: UInt16
    private let exchanges: ExchangeTable
    private let running = Mutex<Running?>(nil)

    private struct Running {
        /// Safe, because it is used with the lock held only, and `stop` removes it there.
        nonisolated(unsafe) let daemon: OpaquePointer
        let port: UInt16
    }

    /// With port 0, the system chooses one.
    ///
    /// - Parameters:
    ///   - admission: judges a request by its headers, before its body is kept. What it returns is the response.
    ///   - refusing: writes the response to a request that reaches no handler. Of a request whose address or body is refused, it
    ///     has no query and no body.
    ///   - observer: must return at once.
    package init(
        host: String,
        port: UInt16,
        limits: Limits = Limits(),
        admission: Admission? = nil,
        refusing: @escaping Refusal.Writing = { refusal, _ in refusal.response },
        observer: (@Sendable (WebEvent) -> Void)? = nil,
        routes: [Route]
    ) {
        self.host = host
        wantedPort = port
        exchanges = ExchangeTable(RouteTable(routes), limits, admission, refusing, observer)
    }

    deinit { stop() }

    /// The port it listens on; 0 before it does.
    package var port: UInt16 {
        self.running.withLock { running in
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
            MHD_OptionItem(option: .PER_IP_CONNECTION_LIMIT, value: limits.connectionsPerAddress, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: limits.idleSeconds, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: limits.memoryPerConnection, ptr_value: nil),
            MHD_OptionItem(option: .END, value: 0, ptr_value: nil),
        ]
        let daemon = cmicrohttp_start(
            flags,
            { context, connection, path, method, _, upload, size, slot in
                guard let context, let connection, let path, let method, let size, let slot else { return .NO }
                // Not yet freed: this thread ends before `exchanges` is freed.
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                let uploaded = UnsafeRawBufferPointer(start: upload, count: size.pointee)
                size.pointee = 0
                return exchanges.called(connection, method, path, uploaded, slot)
            },
            { context, connection, slot, _ in
                guard let context, let connection, let slot else { return }
                let exchanges = Unmanaged<ExchangeTable>.fromOpaque(context).takeUnretainedValue()
                // The reference that `ExchangeTable` left in the slot; libmicrohttpd calls this once a request, as its last
                // call.
                let exchange = slot.pointee
                slot.pointee = nil
                if let exchange { Unmanaged<Exchange>.fromOpaque(exchange).release() }
                exchanges.ended(on: connection, wasOpen: exchange != nil)
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
            // Paths and queries stay as they were sent: decoded, a slash in a name would be one of the path, and a null
            // character would end it.
            { _, _, text in
                var length = 0
                while let text, text[length] != 0 { length += 1 }
                return length
            },
            // `exchanges` lives as long as this server, whose end waits for the daemon's.
            Unmanaged.passUnretained(self.exchanges).toOpaque(),
            &options
        )
        guard let daemon else {
            _ = Socket(owning: descriptor)
            throw IOError(.system, "The HTTP server cannot start: too few descriptors, threads or memory.")
        }
        running.withLock { $0 = Running(daemon: daemon, port: port) }
    }

    /// Accepts no more connections, and waits until the responses to all requests are sent, or the time is over. New requests
    /// on open connections are refused.
    package func drain(on loop: EventLoop, within limit: Duration) async {
        let listener = self.running.withLock { running in running.map { MHD_quiesce_daemon($0.daemon) } }
        // The descriptor was ours, and libmicrohttpd gives it back.
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
        self.running.withLock { running in
            guard let daemon = running?.daemon else { return }
            exchanges.close()
            MHD_stop_daemon(daemon)
            running = nil
        }
    }
}
