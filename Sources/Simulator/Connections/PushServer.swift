import CarillonIO
import CarillonTLS

/// The gateway. It serves all connections on one loop.
actor PushServer: SimulatorService {
    /// A connection with its watch and timers on the loop.
    private struct Open {
        let connection: SimulatorConnection
        var watch: WatchToken?
        var interest: Interest = []
        var timer: TimerToken?
        var stall = Stall()

        /// The piece that the client has not completed. It counts only while the simulator is reading.
        var unfinished: Int? { interest == .read ? connection.unfinished : nil }
    }

    /// How often connections are checked while a client has left something incomplete.
    private static let checkInterval = Duration.seconds(1)

    nonisolated let context: ServiceContext
    var listening: ListeningSide
    private var isChecking = false
    /// Private, because Swift 6.3.1 releases parts of it twice if another file changes it.
    private var state: ServerState
    private var opened = 0
    private var open: [Int: Open] = [:]
    var binaryConnections = 0 {
        didSet { opened += max(0, binaryConnections - oldValue) }
    }

    private var loop: EventLoop { context.loop }
    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    init(_ context: ServiceContext) throws(SimulatorError) {
        self.context = context
        state = try ServerState(context.configuration, deadTokens: context.deadTokens, channels: context.channels)
        listening = ListeningSide(try Self.tls(context))
    }

    /// Any certificate may connect; its contents decide what it may be used for.
    static func tls(_ context: ServiceContext) throws(SimulatorError) -> TLSContext {
        try SimulatorError.unavailable {
            try TLSContext.server(
                identity: context.identity,
                clients: .requested(),
                alpn: ["h2"],
                requiresProtocol: context.configuration.isPedantic
            )
        }
    }

    var record: (statistics: SimulatorStatistics, requests: [ReceivedRequest]) {
        var statistics = state.recorder.counters.statistics
        statistics.connections = opened
        statistics.openConnections = open.count + binaryConnections
        statistics.providerTokens = state.judge.acceptedProviderTokens
        statistics.uncounted = state.judge.uncounted
        statistics.channels = context.channels.count
        if let counts = state.deadTokens?.list.withLock({ ($0.waiting, $0.sent) }) {
            (statistics.deadTokensWaiting, statistics.deadTokensTold) = counts
        }
        return (statistics, state.recorder.requests)
    }

    /// Sends GOAWAY on every connection and closes all. Afterwards nothing of this server is left on the loop.
    func stop() async {
        let numbers = Array(open.keys)
        for number in numbers {
            open[number]?.connection.close(&state)
            close(number)
        }
        await stopListening()
    }

    // MARK: A connection's life

    func serve(_ stream: consuming TLSStream, as number: Int) throws {
        try serve(stream, as: number, .pushes)
    }

    /// Serves a client of the channel service.
    func serveChannels(_ stream: consuming TLSStream) throws {
        try serve(stream, as: listening.nextNumber(), .channels)
    }

    private func serve(_ stream: consuming TLSStream, as number: Int, _ service: GatewayService) throws {
        state.readClock()
        let environment = context.configuration.environment
        let credential = ClientCredential(stream.peerCertificate, environment: environment, now: state.now / 1000)
        let connection = try SimulatorConnection(
            number: number,
            stream: stream,
            AuthenticationState(credential: credential, service: service),
            server: state
        )
        opened += 1
        open[number] = Open(connection: connection)
        serve(number)
    }

    func allow(_ topic: String) { state.judge.allow(topic) }

    /// Adds the topics that the configuration names for later.
    func scheduleTopics() {
        for (topic, delay) in context.configuration.laterTopics {
            _ = loop.schedule(at: .now + delay) { [weak self] in self?.assumeIsolated { $0.allow(topic) } }
        }
    }

    /// A connection failed, here or in another service of this simulator.
    func failed(_ failure: ConnectionFailure) { state.recorder.failed(failure) }

    /// Judges the notifications that a client of the binary gateway has sent in full.
    func judge(_ client: BinaryClient) -> (client: BinaryClient, end: BinaryClient.End?) {
        state.readClock()
        var client = client
        let end = state.end(of: &client)
        state.recorder.flush()
        return (client, end)
    }

    private func serve(_ number: Int) {
        guard var entry = open[number] else { return }
        if let timer = entry.timer.take() { loop.cancel(timer) }
        let next = entry.connection.serve(&state)
        switch next {
        case .closed:
            open[number] = entry
            return close(number)
        case .again:
            entry.timer = loop.schedule(at: .now) { self.serve(number) }
        case .ready(let interest):
            if let due = entry.connection.nextDue { entry.timer = loop.schedule(at: due) { self.serve(number) } }
            if interest != entry.interest {
                entry.interest = interest
                if let watch = entry.watch {
                    loop.update(watch, to: interest)
                } else {
                    entry.watch = try? loop.watch(entry.connection.descriptor, for: interest) { _ in self.serve(number)
                    }
                }
            }
            if !isChecking, entry.unfinished != nil {
                _ = entry.stall.isTooLong(entry.unfinished, at: context.clock.now)
                scheduleCheck()
            }
        }
        open[number] = entry
        // If there is no memory for a watch, the connection would never be read.
        if entry.watch == nil, next != .again { close(number) }
    }

    private func close(_ number: Int) {
        guard let entry = open.removeValue(forKey: number) else { return }
        if let watch = entry.watch { loop.cancel(watch) }
        if let timer = entry.timer { loop.cancel(timer) }
        entry.connection.ended(&state)
        if entry.connection.hasFailed { LingeringClose.begin(over: entry.connection.descriptor, on: loop) }
    }

    // MARK: Stalled clients

    private func scheduleCheck() {
        isChecking = true
        let clock = context.clock
        clock.wake(at: clock.now + Self.checkInterval, on: loop) { [weak self] in
            self?.assumeIsolated { $0.endStalled() }
        }
    }

    /// Ends the connections whose clients have left something incomplete for too long. An idle client may stay, as with Apple.
    private func endStalled() {
        let now = context.clock.now
        for number in Array(open.keys) {
            let unfinished = open[number]?.unfinished
            guard open[number]?.stall.isTooLong(unfinished, at: now) == true else { continue }
            // If an observer has blocked this loop, the rest may have arrived in the meantime.
            serve(number)
            guard let entry = open[number], entry.unfinished == unfinished else { continue }
            entry.connection.stalled(&state)
            close(number)
        }
        isChecking = false
        if open.values.contains(where: { $0.unfinished != nil }) { scheduleCheck() }
    }
}
