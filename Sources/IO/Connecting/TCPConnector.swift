import Glibc

/// Connects to a host, on its loop: looks up the name, races the addresses and enforces the deadline.
actor TCPConnector {
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
    /// The task may be cancelled before it waits.
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
        order: @escaping @Sendable ([SocketAddress]) -> [SocketAddress]
    ) {
        self.loop = loop
        self.order = order
        self.host = host
        self.port = port
        self.timeout = timeout
    }

    /// Returns a connected descriptor, which the caller then owns.
    func connect() async -> Swift::Result<CInt, IOError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.continuation = continuation
                begin()
            }
        } onCancel: {
            loop.submit { self.assumeIsolated { $0.cancel() } }
        }
    }

    private var place: String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private func begin() {
        guard !isCancelled else { return cancel() }
        deadline = loop.schedule(at: .now + timeout, abandoned: { self.cancel() }, { self.timedOut() })
        Resolver.lookUp(host, port: port) { answer in
            self.loop.submit { self.assumeIsolated { $0.resolved(answer) } }
        }
    }

    private func resolved(_ answer: Resolver.Lookup) {
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
        do {
            let socket = try Socket.connecting(to: address)
            let watch = try loop.watch(socket.descriptor, for: .write) { _ in self.concluded(index) }
            attempts[index] = Attempt(descriptor: socket.release(), watch: watch)
        } catch {
            race?.failed(index, errno: error.errno, at: .now)
        }
    }

    private func concluded(_ index: Int) {
        guard let attempt = attempts.removeValue(forKey: index) else { return }
        loop.cancel(attempt.watch)
        conclude(index, Socket(owning: attempt.descriptor))
        step()
    }

    private func conclude(_ index: Int, _ socket: consuming Socket) {
        var number = socket.pendingError()
        // On the loopback interface, if nothing listens on the destination port, the kernel may choose that port as the
        // connection's own, and the socket connects to itself.
        if number == 0,
            (try? SocketAddress(boundTo: socket.descriptor)) == (try? SocketAddress(connectedTo: socket.descriptor))
        {
            number = ECONNREFUSED
        }
        guard number == 0 else {
            race?.failed(index, errno: number, at: .now)
            return
        }
        socket.setNoDelay()
        slower = race.map { Array($0.addresses[..<index]) } ?? []
        end(with: .success(socket.release()))
    }

    private func timedOut() {
        let tried = race.map { $0.addresses.map(\.host).joined(separator: ", ") }
        let sentence =
            tried.map { "no answer from \($0); check the address and that no firewall drops the connection" }
            ?? "its name was still being looked up; check this machine's DNS"
        end(with: .failure(IOError(.timedOut, "connecting to \(place) took longer than \(timeout): \(sentence)")))
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

    /// A refusal, if there is one, determines the code: it shows that the host is up, which a missing route does not.
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
            case .unreachable: "there is no route to \(place)"
            default: "connecting to \(place) failed"
            }
        let advice =
            IOError.advice(onShortage: chosen.errno) ?? "check the host, the port and that the server runs"
        return IOError(code, "\(sentence) (\(each)): \(advice)", errno: chosen.errno)
    }
}
