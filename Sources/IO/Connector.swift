import CLinux
import Glibc

/// One attempt to connect, on its loop: looks the name up, runs the race, keeps the deadline.
actor Connector {
    private struct Attempt {
        let descriptor: CInt
        let watch: WatchToken
    }

    private let loop: EventLoop
    private let host: String
    private let port: UInt16
    private let timeout: Duration
    private let order: @Sendable ([SocketAddress]) -> [SocketAddress]
    private var continuation: CheckedContinuation<Swift::Result<CInt, IOError>, Never>?
    /// The task may be cancelled before it gets to wait.
    private var isCancelled = false
    private var race: ConnectRace?
    private var attempts: [Int: Attempt] = [:]
    private var deadline: TimerToken?
    private var nextStart: TimerToken?
    /// The addresses that were tried before the one that won.
    private(set) var slower: [SocketAddress] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        host: String,
        port: UInt16,
        timeout: Duration,
        on loop: EventLoop,
        order: @escaping @Sendable ([SocketAddress]) -> [SocketAddress] = { $0 }
    ) {
        self.loop = loop
        self.order = order
        self.host = host
        self.port = port
        self.timeout = timeout
    }

    /// A connected descriptor, which is then the caller's: to one of these addresses, or to one of the host's.
    func connect(toOneOf addresses: [SocketAddress]? = nil) async -> Swift::Result<CInt, IOError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.continuation = continuation
                begin(with: addresses)
            }
        } onCancel: {
            loop.submit { self.assumeIsolated { $0.cancel() } }
        }
    }

    private var place: String {
        host.contains(":") && !host.hasPrefix("[")
            ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private func begin(with addresses: [SocketAddress]?) {
        guard !isCancelled else { return cancel() }
        deadline = loop.schedule(
            at: .now + timeout,
            abandoned: { self.cancel() },
            { self.runOutOfTime() }
        )
        if let addresses { return resolved(.success(addresses)) }
        Resolver.lookUp(host, port: port) { answer in
            self.loop.submit { self.assumeIsolated { $0.resolved(answer) } }
        }
    }

    private func resolved(_ answer: Resolver.Answer) {
        guard continuation != nil else { return }
        switch answer {
        case .failure(let error):
            end(with: .failure(error))
        case .success(let addresses):
            race = ConnectRace(order(addresses), at: .now)
            step()
        }
    }

    private func step() {
        while continuation != nil, let decision = race?.decide(at: .now) {
            switch decision {
            case .start(let index):
                start(index)
            case .wait(let until):
                if let token = nextStart.take() { loop.cancel(token) }
                if let until { nextStart = loop.schedule(at: until) { self.step() } }
                return
            case .giveUp:
                return end(with: .failure(allFailed()))
            }
        }
    }

    private func start(_ index: Int) {
        guard let address = race?.addresses[index] else { return }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { return failed(index, errno: errno) }
        let result = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        let number = errno
        if result == 0 { return conclude(index, Socket(owning: descriptor)) }
        guard number == EINPROGRESS || number == EINTR else {
            close(descriptor)
            return failed(index, errno: number)
        }
        do {
            let watch = try loop.watch(descriptor, for: .write) { _ in self.concluded(index) }
            attempts[index] = Attempt(descriptor: descriptor, watch: watch)
        } catch {
            close(descriptor)
            failed(index, errno: error.errno)
        }
    }

    private func concluded(_ index: Int) {
        guard let attempt = attempts.removeValue(forKey: index) else { return }
        loop.cancel(attempt.watch)
        let socket = Socket(owning: attempt.descriptor)
        conclude(index, socket)
        step()
    }

    private func conclude(_ index: Int, _ socket: consuming Socket) {
        let number = socket.pendingError()
        guard number == 0 else { return failed(index, errno: number) }
        // On loopback the kernel may give a connection to a port where nobody listens that very port as its own, and
        // the connection then is with itself.
        if (try? SocketAddress(boundTo: socket.descriptor)) == (try? SocketAddress(connectedTo: socket.descriptor)) {
            return failed(index, errno: ECONNREFUSED)
        }
        socket.setNoDelay()
        slower = race.map { Array($0.addresses[..<index]) } ?? []
        end(with: .success(socket.release()))
    }

    private func failed(_ index: Int, errno number: CInt) {
        race?.failed(index, errno: number, at: .now)
    }

    private func runOutOfTime() {
        let tried = race.map { $0.addresses.map(\.host).joined(separator: ", ") }
        let sentence =
            tried.map { "no answer from \($0); check the address and that no firewall drops the connection" }
            ?? "its name was still being looked up; check this machine's DNS"
        end(
            with: .failure(
                IOError(.timedOut, "connecting to \(place) took longer than \(timeout): \(sentence)")
            )
        )
    }

    private func cancel() {
        isCancelled = true
        end(with: .failure(IOError(.cancelled, "connecting to \(place) was cancelled")))
    }

    private func end(with result: Swift::Result<CInt, IOError>) {
        guard let continuation = self.continuation.take() else { return }
        for token in [deadline.take(), nextStart.take()] {
            if let token { loop.cancel(token) }
        }
        for attempt in attempts.values {
            loop.cancel(attempt.watch)
            close(attempt.descriptor)
        }
        attempts = [:]
        continuation.resume(returning: result)
    }

    /// The most telling failure gives the code: a host that refused is there, one without a route may not be.
    private func allFailed() -> IOError {
        let failures = race?.failures ?? []
        let refused = failures.first { $0.errno == ECONNREFUSED }
        guard let chosen = refused ?? failures.first else {
            return IOError(.unresolvable, "the host name \(host) has no address")
        }
        let each = failures.map { "\($0.address.host): \(IOError.text(of: $0.errno))" }.joined(separator: ", ")
        let code = IOError.Code(errno: chosen.errno)
        let sentence =
            switch code {
            case .refused: "nothing accepts connections at \(place)"
            case .unreachable: "there is no way from here to \(place)"
            default: "connecting to \(place) failed"
            }
        let advice =
            IOError.advice(onShortage: chosen.errno) ?? "check the host, the port and that the server runs"
        return IOError(code, "\(sentence) (\(each)): \(advice)", errno: chosen.errno)
    }
}
