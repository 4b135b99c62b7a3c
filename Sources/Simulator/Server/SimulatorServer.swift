import IO
import TLS

/// Listens, shakes hands, and gives each connection its turns, all on one loop.
actor SimulatorServer: SimulatorService {
    /// A connection with what the loop holds of it.
    private struct Open {
        let connection: SimulatorConnection
        var watch: WatchToken?
        var interest: Interest
        var timer: TimerToken?
        var stall = Stall()

        /// What the client has begun and not completed, as far as that is not because we read nothing of it.
        var unfinished: Int? { interest == .read ? connection.unfinished : nil }
    }

    /// How often connections are looked at while a client has something incomplete.
    private static let lookInterval = Duration.seconds(1)

    nonisolated let loop: EventLoop
    nonisolated let clock: any LimitClock
    private let context: TLSContext
    private let environment: SimulatorConfiguration.Environment
    private let distance: Distance?
    private var isLooking = false
    private var desk: Desk
    private var listener: Listener?
    private var lastNumber = 0
    private var opened = 0
    private var open: [Int: Open] = [:]
    private var handshakes: [Int: Task<Void, Never>] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        _ configuration: SimulatorConfiguration,
        identity: Identity,
        deadTokens: DeadTokens?,
        distance: Distance?,
        clock: any LimitClock,
        loop: EventLoop
    ) throws(SimulatorError) {
        self.loop = loop
        self.clock = clock
        environment = configuration.environment
        self.distance = distance
        desk = try Desk(configuration, deadTokens: deadTokens)
        do {
            // Whoever it is may come: the certificate itself says what for.
            context = try TLSContext.server(
                identity: identity,
                clients: .requested(),
                alpn: ["h2"],
                requiresProtocol: configuration.isPedantic
            )
        } catch {
            throw SimulatorError(.unavailable, error.message, underlying: error)
        }
    }

    /// Listens from here on; returns the port.
    func listen(host: String, port: UInt16) throws(SimulatorError) -> UInt16 {
        let listener = try listener(host: host, port: port, distance: distance)
        self.listener = listener
        return listener.port
    }

    private var statistics: SimulatorStatistics {
        var told = desk.recorder.counters.statistics
        told.connections = opened
        told.openConnections = open.count
        told.providerTokens = desk.judge.goodTokens
        told.uncounted = desk.judge.uncounted
        if let counts = desk.deadTokens?.counts { (told.deadTokensWaiting, told.deadTokensTold) = counts }
        return told
    }

    /// Counts and deliveries of one moment.
    var told: (statistics: SimulatorStatistics, deliveries: [Delivery]) { (statistics, desk.recorder.deliveries) }

    /// Says goodbye on every connection and closes all; afterwards nothing of it is left on the loop.
    func stop() async {
        listener?.close()
        listener = nil
        for number in Array(open.keys) {
            open[number]?.connection.close(&desk)
            close(number)
        }
        let tasks = Array(handshakes.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    // MARK: A connection's life

    func accepted(_ descriptor: CInt) {
        guard listener != nil else {
            _ = Socket(owning: descriptor)
            return
        }
        lastNumber += 1
        let number = lastNumber
        handshakes[number] = Task { await shakeHands(descriptor, number) }
    }

    private func shakeHands(_ descriptor: CInt, _ number: Int) async {
        defer { handshakes[number] = nil }
        do {
            let stream = try await shakeHands(descriptor, context)
            // Stopped meanwhile: nobody would close it.
            guard listener != nil else { return }
            desk.readClock()
            let credential = ClientCredential(stream.peerCertificate, environment: environment, now: desk.now / 1000)
            let connection = try SimulatorConnection(
                number: number,
                stream: stream,
                credential: credential,
                desk: desk
            )
            opened += 1
            open[number] = Open(connection: connection, interest: [])
            turn(number)
        } catch {
            // Those that a stop has cut off failed by nobody's fault.
            if listener == nil { return }
            desk.readClock()
            failed(ConnectionFailure(time: desk.now, connection: number, isHandshake: true, message: "\(error)"))
        }
    }

    /// A connection failed, here or in another service of this simulator.
    func failed(_ failure: ConnectionFailure) { desk.recorder.failed(failure) }

    private func turn(_ number: Int) {
        guard var entry = open[number] else { return }
        if let timer = entry.timer.take() { loop.cancel(timer) }
        let next = entry.connection.turn(&desk)
        switch next {
        case .closed:
            open[number] = entry
            return close(number)
        case .again:
            entry.timer = loop.schedule(at: .now) { self.turn(number) }
        case .ready(let interest):
            if let due = entry.connection.nextDue { entry.timer = loop.schedule(at: due) { self.turn(number) } }
            if interest != entry.interest {
                entry.interest = interest
                if let watch = entry.watch {
                    loop.update(watch, to: interest)
                } else {
                    entry.watch = try? loop.watch(entry.connection.descriptor, for: interest) { _ in self.turn(number) }
                }
            }
            if !isLooking, entry.unfinished != nil {
                _ = entry.stall.isTooLong(entry.unfinished, at: clock.now)
                lookAgain()
            }
        }
        open[number] = entry
        // Without memory for a watch nothing of the connection would ever be read.
        if entry.watch == nil, next != .again { close(number) }
    }

    // MARK: Clients that go silent

    private func lookAgain() {
        isLooking = true
        clock.wake(at: clock.now + Self.lookInterval, on: loop) { [weak self] in
            self?.assumeIsolated { $0.endStalled() }
        }
    }

    /// Ends the connections whose clients have left something incomplete for too long. A client that has nothing to say
    /// may stay, as at Apple's.
    private func endStalled() {
        let now = clock.now
        for number in Array(open.keys) {
            let unfinished = open[number]?.unfinished
            guard open[number]?.stall.isTooLong(unfinished, at: now) == true else { continue }
            // Where an observer has kept this loop from reading, the rest may be here by now.
            turn(number)
            guard let entry = open[number], entry.unfinished == unfinished else { continue }
            entry.connection.stalled(&desk)
            close(number)
        }
        isLooking = false
        if open.values.contains(where: { $0.unfinished != nil }) { lookAgain() }
    }

    private func close(_ number: Int) {
        guard let entry = open.removeValue(forKey: number) else { return }
        if let watch = entry.watch { loop.cancel(watch) }
        if let timer = entry.timer { loop.cancel(timer) }
        entry.connection.ended(&desk)
        if entry.connection.hasFailed { Farewell.begin(over: entry.connection.descriptor, on: loop) }
    }
}
