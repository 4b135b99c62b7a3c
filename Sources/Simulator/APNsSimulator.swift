import CarillonIO
import CarillonTLS

/// Simulates Apple's push notification service on a port of this machine. It is as strict as the real one.
///
/// ```swift
/// var configuration = SimulatorConfiguration()
/// configuration.answers = [try AnswerRule(parsing: "dead=410:Unregistered")]
/// configuration.recordsRequests = true
/// let simulator = try APNsSimulator(configuration)
/// try await simulator.start()
/// // … push to localhost:simulator.port, trusting simulator.rootPEM …
/// await simulator.stop()
/// ```
///
/// It creates a certificate authority, whose root clients must trust, or uses the one in ``SimulatorConfiguration/stateFolder``. It
/// can be restarted after a stop: it then has the same root and port, and its counts start at 0.
public final class APNsSimulator: Sendable {
    private struct Running {
        let server: PushServer
        /// The services beside the gateway.
        let services: [any SimulatorService]
        let context: ServiceContext
    }

    private struct Ports {
        var gateway: UInt16
        var channels: UInt16?
        var binary: UInt16?
        var feedback: UInt16?
    }

    private typealias Record = (statistics: SimulatorStatistics, requests: [ReceivedRequest])

    private enum Phase {
        case stopped
        case changing
        case running(Running)
    }

    private struct State {
        var phase = Phase.stopped
        /// The ports of the last start.
        var ports: Ports
        /// Topics added to those of the configuration.
        var topics: [String] = []
        /// The record that remains after a stop.
        var record: Record = (SimulatorStatistics(), [])
    }

    private let configuration: SimulatorConfiguration
    private let authority: CertificateAuthority
    private let deadTokens: SharedDeadTokenList?
    let channelTable = ChannelTable()
    /// The export service of metrics, which needs a server that speaks HTTP/1.1.
    package let exports: ExportService
    private let clock: any LimitClock
    private let state: Guarded<State>

    /// Prepares a simulator; nothing listens yet.
    public convenience init(_ configuration: SimulatorConfiguration = SimulatorConfiguration()) throws(SimulatorError) {
        try self.init(configuration, clock: LoopClock())
    }

    init(_ configuration: SimulatorConfiguration, clock: any LimitClock) throws(SimulatorError) {
        try configuration.check()
        if let folder = configuration.stateFolder {
            authority = try AuthorityFile(in: folder).authority()
        } else {
            authority = try AuthorityFile.newAuthority()
        }
        self.configuration = configuration
        self.clock = clock
        exports = ExportService(configuration.answers)
        deadTokens = configuration.feedbackPort == nil ? nil : SharedDeadTokenList()
        let ports = Ports(
            gateway: configuration.port,
            channels: configuration.channelPort,
            binary: configuration.binaryPort,
            feedback: configuration.feedbackPort
        )
        state = Guarded(State(ports: ports))
        for dead in configuration.deadTokens { reportDead(dead) }
    }

    /// The certificate, in PEM, of the authority that clients must trust.
    public var rootPEM: String { authority.pem }

    /// The port that it listens on, or last listened on.
    public var port: UInt16 { state.withLock { $0.ports.gateway } }

    /// The port that its channel service listens on, or last listened on; nil if it has none.
    public var channelPort: UInt16? { state.withLock { $0.ports.channels } }

    /// The port that its binary gateway listens on, or last listened on; nil if it has none.
    public var binaryPort: UInt16? { state.withLock { $0.ports.binary } }

    /// The port that its feedback service listens on, or last listened on; nil if it has none.
    public var feedbackPort: UInt16? { state.withLock { $0.ports.feedback } }

    /// Adds a dead device token to the list of the feedback service.
    public func reportDead(_ dead: DeadToken) { deadTokens?.list.withLock { $0.add(dead.entry) } }

    /// Adds a bundle ID to ``SimulatorConfiguration/topics``, as when an app is added to a signing key.
    ///
    /// As with Apple, a connection with provider tokens keeps the topics that were known at its first push, and refuses the new one
    /// (`TopicDisallowed`). If the configuration names no topics, provider tokens may push to any topic from the start.
    public func allow(topic: String) async throws(SimulatorError) {
        guard HeaderForm.isTopic(Array(topic.utf8).span) else { throw .badTopic(topic) }
        let running: Running? = state.withLock { state in
            state.topics.append(topic)
            if case .running(let running) = state.phase { return running }
            return nil
        }
        await running?.server.allow(topic)
    }

    /// Issues a client certificate that names these topics the way Apple's certificates do.
    public func issueCertificate(
        topics: [String],
        commonName: String? = nil,
        environments: Set<SimulatorConfiguration.Environment> = [.production, .sandbox],
        isExpired: Bool = false
    ) throws(SimulatorError) -> IssuedCertificate {
        var facts: CertificateFacts.Environments = []
        if environments.contains(.production) { facts.insert(.production) }
        if environments.contains(.sandbox) { facts.insert(.sandbox) }
        let pair = try SimulatorError.unavailable {
            try authority.issue(
                commonName: commonName ?? "Apple Push Services: \(topics.first ?? "any")",
                topics: topics,
                environments: facts,
                notAfter: isExpired ? 1_500_000_000 : nil
            )
        }
        return IssuedCertificate(certificate: pair.certificatePEM, privateKey: pair.privateKeyPEM)
    }

    /// Creates a signing key for a test, as the text of a `.p8` file. A simulator without ``SimulatorConfiguration/providerKeys``
    /// accepts it under any key ID and team ID.
    public static func makeSigningKey() throws(SimulatorError) -> String {
        try SimulatorError.unavailable { try SigningKey.generate().pem }
    }

    /// Starts to listen.
    public func start() async throws(SimulatorError) {
        let ports: Ports? = state.withLock { state in
            guard case .stopped = state.phase else { return nil }
            state.phase = .changing
            state.record = (SimulatorStatistics(), [])
            return state.ports
        }
        guard let ports else {
            throw SimulatorError(.unavailable, "The simulator is already running: stop it before you start it again.")
        }
        do throws(SimulatorError) {
            let (running, opened) = try await run(on: ports)
            let added = state.withLock { state in
                (state.phase, state.ports) = (.running(running), opened)
                return state.topics
            }
            // Add the topics that were added during the start.
            for topic in added { await running.server.allow(topic) }
        } catch {
            state.withLock { $0.phase = .stopped }
            throw error
        }
    }

    /// Closes all connections and the port. Its counts and requests can still be read.
    public func stop() async {
        let running: Running? = state.withLock { state in
            guard case .running(let running) = state.phase else { return nil }
            state.phase = .changing
            return running
        }
        guard let running else { return }
        await running.server.stop()
        for service in running.services { await service.stopListening() }
        let record = await running.server.record
        running.context.stop()
        state.withLock { ($0.phase, $0.record) = (.stopped, record) }
    }

    /// The counts since the last start.
    public func statistics() async -> SimulatorStatistics { await record().statistics }

    /// The requests since the last start, in order, if ``SimulatorConfiguration/recordsRequests`` is set.
    public func receivedRequests() async -> [ReceivedRequest] { await record().requests }

    private func record() async -> Record {
        let (phase, record) = state.withLock { ($0.phase, $0.record) }
        if case .running(let running) = phase { return await running.server.record }
        return record
    }

    private func run(on ports: Ports) async throws(SimulatorError) -> (Running, Ports) {
        let identity = try SimulatorError.unavailable("The simulator cannot start: ") {
            let names = configuration.serverNames
            let pair = try authority.issue(commonName: names.first ?? "localhost", subjectAlternativeNames: names)
            return try Identity(certificate: pair.certificatePEM, privateKey: pair.privateKeyPEM)
        }
        let context = try ServiceContext(configuration, identity, deadTokens, channelTable, clock: clock)
        do throws(SimulatorError) {
            let server = try PushServer(context)
            for topic in state.withLock({ $0.topics }) { await server.allow(topic) }
            await server.scheduleTopics()
            var services: [any SimulatorService] = []
            func open(
                _ port: UInt16?,
                _ make: (ServiceContext, PushServer) throws(SimulatorError) -> any SimulatorService
            ) async throws(SimulatorError) -> UInt16? {
                guard let port else { return nil }
                let service = try make(context, server)
                services.append(service)
                return try await service.listen(on: port)
            }
            let opened = Ports(
                gateway: try await server.listen(on: ports.gateway),
                channels: try await open(ports.channels, ChannelServer.init),
                binary: try await open(ports.binary, BinaryServer.init),
                feedback: try await open(ports.feedback, LegacyFeedbackServer.init)
            )
            return (Running(server: server, services: services, context: context), opened)
        } catch {
            context.stop()
            throw error
        }
    }
}

/// This machine's clock, with the loop's own timers.
private struct LoopClock: LimitClock {
    var now: MonotonicInstant { .now }

    func deadline(in limit: Duration) -> MonotonicInstant { .now + limit }

    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
        _ = loop.schedule(at: instant, action)
    }
}
