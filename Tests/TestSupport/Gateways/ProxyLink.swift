import Glibc
import IO

/// One connection through a proxy: two sockets, and what is on its way between them. On the proxy's loop only.
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
    /// Whoever connected, and whoever that was meant for.
    private let client: End
    private let server: End
    private var up = ProxyFlow()
    private var down = ProxyFlow()
    private var timer: TimerToken?
    private var latency = Duration.zero
    private var isInBlackHole = false
    private var isOver = false
    /// Told once, with whether the proxy cut it, and after how many bytes in each direction on their way.
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
        case .up: self.up.cut(afterBytes: count)
        case .down: self.down.cut(afterBytes: count)
        }
        self.work()
    }

    func fallIntoBlackHole() throws(IOError) {
        self.isInBlackHole = true
        try BlackHole.open(for: self.client.socket.descriptor)
        try BlackHole.open(for: self.server.socket.descriptor)
        self.work()
    }

    func leaveBlackHole() {
        self.isInBlackHole = false
        BlackHole.close(for: self.client.socket.descriptor)
        BlackHole.close(for: self.server.socket.descriptor)
        self.work()
    }

    /// The sockets are closed with the last reference to the link.
    func end(by ending: Proxy.Ending, isCut: Bool = false) {
        guard !self.isOver else { return }
        self.isOver = true
        for end in [self.client, self.server] {
            if let watch = end.watch.take() { self.loop.cancel(watch) }
            if ending == .reset {
                end.socket.resetWhenClosed()
            } else {
                shutdown(end.socket.descriptor, CInt(SHUT_RDWR))
            }
        }
        if let timer = self.timer.take() { self.loop.cancel(timer) }
        self.ended(isCut)
    }

    // MARK: Work

    func work() {
        if !self.isInBlackHole, !self.isOver {
            let isAlive =
                self.move(&self.up, .up, from: self.client, to: self.server)
                && self.move(&self.down, .down, from: self.server, to: self.client)
            if self.up.isCut || self.down.isCut { return self.end(by: .reset, isCut: true) }
            // What one side does to its end of the connection, the other gets to feel.
            if !isAlive { return self.end(by: .reset) }
            if self.up.isClosed, self.down.isClosed { return self.end(by: .close) }
        }
        guard !self.isOver else { return }
        self.wait()
    }

    /// False: one of the sockets is broken.
    private func move(_ flow: inout ProxyFlow, _ direction: Proxy.Direction, from source: End, to target: End) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do {
            reading: while flow.hasRoom {
                switch try source.socket.read(into: &buffer) {
                case .bytes(let count): flow.received(buffer[..<count], due: .now + self.latency)
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
                self.passed(direction, count)
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
        let isOpen = !self.isInBlackHole
        self.watch(self.client, reads: isOpen && self.up.hasRoom, writes: isOpen && self.down.ready(at: now) != nil)
        self.watch(self.server, reads: isOpen && self.down.hasRoom, writes: isOpen && self.up.ready(at: now) != nil)
        if let timer = self.timer.take() { self.loop.cancel(timer) }
        guard isOpen, let due = [self.up.due, self.down.due].compactMap({ $0 }).filter({ $0 > now }).min() else {
            return
        }
        self.timer = self.loop.schedule(at: due) { [weak self] in
            self?.timer = nil
            self?.work()
        }
    }

    /// Without a wish there is no watch, since a socket that was hung up tells of it whatever it is watched for.
    private func watch(_ end: End, reads: Bool, writes: Bool) {
        let interest: Interest = reads ? (writes ? [.read, .write] : .read) : (writes ? .write : [])
        guard interest != end.interest else { return }
        end.interest = interest
        if let watch = end.watch.take() { self.loop.cancel(watch) }
        if interest != [] {
            end.watch = try? self.loop.watch(end.socket.descriptor, for: interest) { [weak self] _ in self?.work() }
        }
    }
}
