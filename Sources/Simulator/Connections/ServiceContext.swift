import CarillonIO
import CarillonTLS

/// What the services of a simulator share.
final class ServiceContext: Sendable {
    let configuration: SimulatorConfiguration
    let identity: Identity
    let clock: any LimitClock
    let deadTokens: SharedDeadTokenList?
    let channels: ChannelTable
    let distance: Distance?
    let loop: EventLoop

    init(
        _ configuration: SimulatorConfiguration,
        _ identity: Identity,
        _ deadTokens: SharedDeadTokenList?,
        _ channels: ChannelTable,
        clock: any LimitClock
    ) throws(SimulatorError) {
        self.configuration = configuration
        self.identity = identity
        self.clock = clock
        self.deadTokens = deadTokens
        self.channels = channels
        distance = try Distance(configuration.distance, window: configuration.window)
        do {
            loop = try EventLoop(name: "simulator")
        } catch {
            distance?.stop()
            throw SimulatorError(.unavailable, "The simulator could not start a thread: \(error)", underlying: error)
        }
    }

    /// The client's certificate, if pushes with it are not refused.
    func usable(_ facts: CertificateFacts?) -> ClientCredential.Certificate? {
        let credential = ClientCredential(facts, environment: configuration.environment, now: WallClock.seconds)
        guard case .certificate(let certificate) = credential, certificate.refusal == nil else { return nil }
        return certificate
    }

    func stop() {
        loop.stop()
        loop.join()
        distance?.stop()
    }
}
