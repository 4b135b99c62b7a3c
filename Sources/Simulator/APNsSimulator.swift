import IO
import TLS

/// A stand-in for Apple's push notification service, as strict as the real one, on a port of this machine.
///
/// ```swift
/// var configuration = SimulatorConfiguration()
/// configuration.answers = [try AnswerRule(parsing: "dead=410:Unregistered")]
/// configuration.recordsDeliveries = true
/// let simulator = try APNsSimulator(configuration)
/// try await simulator.start()
/// // … push to localhost:simulator.port, trusting simulator.rootPEM …
/// await simulator.stop()
/// ```
///
/// It makes an authority of its own, whose root clients must trust, or goes on with the one in
/// ``SimulatorConfiguration/stateFolder``. It may be started again after it was stopped: then it has the same root and the
/// same port, and counts anew.
public final class APNsSimulator: Sendable {
    private struct Running {
        let server: SimulatorServer
        let feedback: FeedbackServer?
        let loop: EventLoop
        let distance: Distance?
        let ports: Ports
    }

    private struct Ports {
        var gateway: UInt16
        var feedback: UInt16?
    }

    private enum State {
        case stopped(Ports, SimulatorStatistics, [Delivery])
        case changing
        case running(Running)
    }

    private let configuration: SimulatorConfiguration
    private let authority: CertificateAuthority
    private let deadTokens: DeadTokens?
    private let clock: any LimitClock
    private let state: Guarded<State>

    /// Prepares a simulator; nothing listens yet.
    public convenience init(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration()
    ) throws(SimulatorError) {
        try self.init(configuration, clock: LoopClock())
    }

    init(_ configuration: SimulatorConfiguration, clock: any LimitClock) throws(SimulatorError) {
        try configuration.check()
        authority = try Self.authority(configuration)
        self.configuration = configuration
        self.clock = clock
        deadTokens = configuration.feedbackPort == nil ? nil : DeadTokens()
        for dead in configuration.deadTokens { deadTokens?.add(dead) }
        let ports = Ports(gateway: configuration.port, feedback: configuration.feedbackPort)
        state = Guarded(.stopped(ports, SimulatorStatistics(), []))
    }

    private static func authority(_ configuration: SimulatorConfiguration) throws(SimulatorError)
        -> CertificateAuthority
    {
        let name = "APNs simulator"
        guard let folder = configuration.stateFolder else { return try AuthorityFile.made(named: name) }
        return try AuthorityFile(in: folder).authority(named: name)
    }

    /// The certificate, in PEM, of the authority that clients must trust.
    public var rootPEM: String { authority.pem }

    /// The port it listens on, or listened on last.
    public var port: UInt16 { ports?.gateway ?? 0 }

    /// The port that its feedback service listens on, or listened on last; nil where it has none.
    public var feedbackPort: UInt16? { ports?.feedback }

    private var ports: Ports? {
        state.withLock { state in
            switch state {
            case .running(let running): running.ports
            case .stopped(let ports, _, _): ports
            case .changing: nil
            }
        }
    }

    /// Has the feedback service tell of a token that is dead.
    public func reportDead(_ dead: DeadToken) { deadTokens?.add(dead) }

    /// Makes a client certificate that names these topics in Apple's way.
    public func issueCertificate(
        topics: [String],
        commonName: String? = nil,
        environments: Set<SimulatorConfiguration.Environment> = [.production, .sandbox],
        isExpired: Bool = false
    ) throws(SimulatorError) -> IssuedCertificate {
        do {
            var good: CertificateFacts.Environments = []
            if environments.contains(.production) { good.insert(.production) }
            if environments.contains(.sandbox) { good.insert(.sandbox) }
            let pair = try authority.issue(
                commonName: commonName ?? "Apple Push Services: \(topics.first ?? "any")",
                topics: topics,
                environments: good,
                notAfter: isExpired ? 1_500_000_000 : nil
            )
            return IssuedCertificate(certificate: pair.certificatePEM, privateKey: pair.privateKeyPEM)
        } catch {
            throw SimulatorError(.unavailable, error.message, underlying: error)
        }
    }

    /// Starts to listen.
    public func start() async throws(SimulatorError) {
        let previous: State? = state.withLock { state in
            guard case .stopped = state else { return nil }
            defer { state = .changing }
            return state
        }
        guard case .stopped(let ports, _, _) = previous else {
            throw SimulatorError(.unavailable, "The simulator runs already: stop it before it is started again.")
        }
        do throws(SimulatorError) {
            let running = try await run(on: ports)
            state.withLock { $0 = .running(running) }
        } catch {
            state.withLock { $0 = .stopped(ports, SimulatorStatistics(), []) }
            throw error
        }
    }

    /// Closes all connections and the port. What was counted and recorded stays readable.
    public func stop() async {
        let running: Running? = state.withLock { state in
            guard case .running(let running) = state else { return nil }
            state = .changing
            return running
        }
        guard let running else { return }
        await running.server.stop()
        await running.feedback?.stop()
        let (statistics, deliveries) = await running.server.told
        running.loop.stop()
        running.loop.join()
        running.distance?.stop()
        state.withLock { $0 = .stopped(running.ports, statistics, deliveries) }
    }

    /// What it has seen and answered since it was started.
    public func statistics() async -> SimulatorStatistics {
        await told().statistics
    }

    /// The requests since it was started, in the order they came, where the configuration asks for them.
    public func deliveries() async -> [Delivery] {
        await told().deliveries
    }

    private func told() async -> (statistics: SimulatorStatistics, deliveries: [Delivery]) {
        let now = state.withLock { $0 }
        switch now {
        case .running(let running): return await running.server.told
        case .stopped(_, let statistics, let deliveries): return (statistics, deliveries)
        case .changing: return (SimulatorStatistics(), [])
        }
    }

    private func run(on ports: Ports) async throws(SimulatorError) -> Running {
        let loop: EventLoop
        var distance: Distance?
        let identity: Identity
        do {
            let pair = try authority.issue(
                commonName: configuration.serverNames.first ?? "localhost",
                subjectAlternativeNames: configuration.serverNames
            )
            identity = try Identity(certificate: pair.certificatePEM, privateKey: pair.privateKeyPEM)
            loop = try EventLoop(name: "simulator")
        } catch {
            throw SimulatorError(.unavailable, "The simulator cannot start: \(error).", underlying: error)
        }
        do throws(SimulatorError) {
            distance = try Distance(configuration.distance, window: configuration.window)
            let server = try SimulatorServer(
                configuration,
                identity: identity,
                deadTokens: deadTokens,
                distance: distance,
                clock: clock,
                loop: loop
            )
            var opened = Ports(gateway: try await server.listen(host: configuration.host, port: ports.gateway))
            var feedback: FeedbackServer?
            if let deadTokens, let port = ports.feedback {
                let service = try FeedbackServer(
                    configuration,
                    identity: identity,
                    deadTokens: deadTokens,
                    distance: distance,
                    clock: clock,
                    loop: loop,
                    failed: { [weak server] failure in server?.assumeIsolated { $0.failed(failure) } }
                )
                opened.feedback = try await service.listen(host: configuration.host, port: port)
                feedback = service
            }
            return Running(server: server, feedback: feedback, loop: loop, distance: distance, ports: opened)
        } catch {
            loop.stop()
            loop.join()
            distance?.stop()
            throw error
        }
    }
}
