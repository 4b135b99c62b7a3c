import Glibc
import IO
import TLS

/// The legacy feedback service: whoever comes with a certificate is told at once which tokens of its topics are dead, and
/// then never again.
actor FeedbackServer: SimulatorService {
    /// How long a client may take nothing.
    private static let writeTimeout = Duration.seconds(30)

    nonisolated let loop: EventLoop
    nonisolated let clock: any LimitClock
    private let context: TLSContext
    private let environment: SimulatorConfiguration.Environment
    private let distance: Distance?
    private let deadTokens: DeadTokens
    /// Called on the loop, for each connection that failed.
    private let failed: @Sendable (ConnectionFailure) -> Void
    /// After how many bytes the first list breaks off.
    private var cutAfter: Int?
    private var listener: Listener?
    private var lastNumber = 0
    private var lines: [Int: Task<Void, Never>] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        _ configuration: SimulatorConfiguration,
        identity: Identity,
        deadTokens: DeadTokens,
        distance: Distance?,
        clock: any LimitClock,
        loop: EventLoop,
        failed: @escaping @Sendable (ConnectionFailure) -> Void
    ) throws(SimulatorError) {
        self.loop = loop
        self.clock = clock
        self.deadTokens = deadTokens
        environment = configuration.environment
        self.distance = distance
        self.failed = failed
        cutAfter = configuration.feedbackCutAfter
        do {
            context = try TLSContext.server(identity: identity, clients: .required())
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

    /// Breaks off what it is telling; that is told the next time.
    func stop() async {
        listener?.close()
        listener = nil
        let tasks = Array(lines.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    func accepted(_ descriptor: CInt) {
        guard listener != nil else {
            _ = Socket(owning: descriptor)
            return
        }
        lastNumber += 1
        let number = lastNumber
        lines[number] = Task {
            await tell(descriptor, number)
            lines[number] = nil
        }
    }

    private func tell(_ descriptor: CInt, _ number: Int) async {
        do {
            var stream = try await shakeHands(descriptor, context)
            let credential = ClientCredential(stream.peerCertificate, environment: environment, now: Int64(time(nil)))
            guard case .certificate(let certificate) = credential, certificate.refusal == nil else { return }
            let entries = deadTokens.take(for: certificate)
            let told = await tell(entries, over: &stream)
            if told < entries.count { deadTokens.putBack(entries[told...]) }
        } catch {
            // The handshake itself has told the client what was wrong. One that a stop has cut off failed by nobody's fault.
            if listener == nil { return }
            failed(
                ConnectionFailure(
                    time: Int64(time(nil)) * 1000,
                    connection: number,
                    isHandshake: true,
                    message: "The feedback service: \(error)"
                )
            )
        }
    }

    /// Answers with how many went out whole.
    private func tell(_ entries: [FeedbackBook.Entry], over stream: inout TLSStream) async -> Int {
        let cut = cutAfter.take()
        var told = 0
        var sent = 0
        while told < entries.count {
            var bytes: [UInt8] = []
            var next = told
            while next < entries.count, bytes.count < 16_384 {
                bytes += entries[next].tuple
                next += 1
            }
            let room = cut.map { $0 - sent } ?? .max
            let isCut = bytes.count > room
            do {
                try await stream.send(Array(bytes.prefix(room)), until: .now + Self.writeTimeout, on: loop)
            } catch {
                return told
            }
            guard !isCut else { return told + Self.whole(entries[told..<next], in: room) }
            sent += bytes.count
            told = next
        }
        stream.closeNotify()
        return told
    }

    /// How many of them so many bytes hold.
    private static func whole(_ entries: ArraySlice<FeedbackBook.Entry>, in room: Int) -> Int {
        var left = room
        return entries.prefix { entry in
            left -= entry.tuple.count
            return left >= 0
        }.count
    }
}
