import CarillonIO
import Glibc

/// One connection through a proxy: two sockets, and the bytes between them. It is confined to the proxy's loop.
final class ProxyLink {
    private final class End {
        let socket: Socket
        var watch: WatchToken?
        var interest: Interest = []

        init(_ socket: consuming Socket) {
            self.socket = socket
        }
    }

    private let loop: EventLoop
    /// The client, and the server that it connected to.
    private let client: End
    private let server: End
    private var up = ProxyFlow()
    private var down = ProxyFlow()
    private var timer: TimerToken?
    private var latency = Duration.zero
    /// Nothing passes.
    private var isStill = false
    private var isOver = false
    /// Called once, with whether the proxy cut the connection.
    private let ended: (_ isCut: Bool) -> Void
    private let passed: (Proxy.Direction, Int) -> Void

    init(
        _ client: consuming Socket,
        _ server: consuming Socket,
        on loop: EventLoop,
        passed: @escaping (Proxy.Direction, Int) -> Void,
        ended: @escaping (_ isCut: Bool) -> Void
    ) {
        self.client = End(client)
        self.server = End(server)
        self.loop = loop
        self.passed = passed
        self.ended = ended
    }

    // MARK: Faults

    func delay(by latency: Duration) {
        self.latency = latency
    }

    func cut(_ direction: Proxy.Direction, afterBytes count: Int?) {
        switch direction {
        case .up: up.cut(afterBytes: count)
        case .down: down.cut(afterBytes: count)
        }
        work()
    }

    func fallIntoBlackHole() throws(IOError) {
        isStill = true
        try BlackHole.open(for: client.socket.descriptor)
        try BlackHole.open(for: server.socket.descriptor)
        work()
    }

    /// Passes nothing on, and takes what comes only as long as the kernel has room.
    func freeze() {
        isStill = true
        work()
    }

    /// The same while bytes are being passed on: what has come already is not read either.
    func stop() { isStill = true }

    func thaw() {
        isStill = false
        work()
    }

    func leaveBlackHole() {
        isStill = false
        BlackHole.close(for: client.socket.descriptor)
        BlackHole.close(for: server.socket.descriptor)
        work()
    }

    /// The sockets are closed with the last reference to the link.
    func end(by ending: Proxy.CloseKind, isCut: Bool = false) {
        guard !isOver else { return }
        isOver = true
        for end in [client, server] {
            if let watch = end.watch.take() { loop.cancel(watch) }
            if ending == .reset {
                end.socket.resetWhenClosed()
            } else {
                shutdown(end.socket.descriptor, CInt(SHUT_RDWR))
            }
        }
        if let timer = self.timer.take() { loop.cancel(timer) }
        ended(isCut)
    }

    // MARK: Work

    func work() {
        if !isStill, !isOver {
            let isAlive =
                move(&up, .up, from: client, to: server)
                && (isStill || move(&down, .down, from: server, to: client))
            if up.isCut || down.isCut { return end(by: .reset, isCut: true) }
            // A reset by one side becomes a reset of the other.
            if !isAlive { return end(by: .reset) }
            if up.isClosed, down.isClosed { return end(by: .close) }
        }
        guard !isOver else { return }
        wait()
    }

    /// False if one of the sockets is broken.
    private func move(_ flow: inout ProxyFlow, _ direction: Proxy.Direction, from source: End, to target: End) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do {
            reading: while flow.hasRoom {
                switch try source.socket.read(into: &buffer) {
                case .bytes(let count): flow.received(buffer[..<count], due: .now + latency)
                case .closed: flow.ended()
                case .wantsRead, .wantsWrite: break reading
                }
            }
            while let bytes = flow.ready(at: .now) {
                let count = bytes.withUnsafeBytes {
                    send(target.socket.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                if count < 0 { return errno == EAGAIN || errno == EINTR }
                flow.passed(count)
                passed(direction, count)
            }
        } catch {
            return false
        }
        if flow.isToBeClosed {
            target.socket.closeWriting()
            flow.closed()
        }
        return true
    }

    private func wait() {
        let now = MonotonicInstant.now
        let isOpen = !isStill
        watch(client, reads: isOpen && up.hasRoom, writes: isOpen && down.ready(at: now) != nil)
        watch(server, reads: isOpen && down.hasRoom, writes: isOpen && up.ready(at: now) != nil)
        if let timer = self.timer.take() { loop.cancel(timer) }
        guard isOpen, let due = [up.due, down.due].compactMap({ $0 }).filter({ $0 > now }).min() else { return }
        self.timer = loop.schedule(at: due) { [weak self] in
            self?.timer = nil
            self?.work()
        }
    }

    /// Without an interest there is no watch, since epoll reports a hang-up whatever the interest.
    private func watch(_ end: End, reads: Bool, writes: Bool) {
        let interest: Interest = reads ? (writes ? [.read, .write] : .read) : (writes ? .write : [])
        guard interest != end.interest else { return }
        end.interest = interest
        if let watch = end.watch.take() { loop.cancel(watch) }
        if interest != [] {
            end.watch = try? loop.watch(end.socket.descriptor, for: interest) { [weak self] _ in self?.work() }
        }
    }
}
