import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// A fleet in which one worker is observed from the beginning to the end, while others come and go and random faults
/// happen.
struct Soak {
    /// How many pushes a worker may have in flight.
    static let maxInFlight = 500
    /// How many connections to the gateway.
    static let connections = 2

    private let scene: Scene
    private let proxy: Proxy
    private let watched: WorkerProcess
    private var others: [WorkerProcess]
    private var random: SeededGenerator
    private(set) var curve = UsageCurve()
    private(set) var faults: [SoakFault: Int] = [:]

    init(in scene: Scene, behind proxy: Proxy) async throws {
        self.scene = scene
        self.proxy = proxy
        random = SeededGenerator(seed: Board.seed)
        watched = try await Self.worker(in: scene)
        others = [try await Self.worker(in: scene), try await Self.worker(in: scene)]
    }

    /// How many pushes can have been sent twice: what all workers had in flight at each fault.
    var duplicates: Int { faults.values.reduce(0, +) * (1 + others.count) * Self.maxInFlight }

    mutating func goOn(for duration: Duration) async throws {
        let end = MonotonicInstant.now + duration
        while .now < end {
            let fault = try #require(SoakFault.allCases.randomElement(using: &random))
            faults[fault, default: 0] += 1
            try await bring(fault)
            try await scene.goesOn(200)
            curve.append(try #require(Usage(of: watched.processID), "the watched worker died"))
        }
    }

    private static func worker(in scene: Scene) async throws -> WorkerProcess {
        try await scene.fleet.started(["--max-in-flight", "\(maxInFlight)", "--connections", "\(connections)"])
    }

    private mutating func bring(_ fault: SoakFault) async throws {
        switch fault {
        case .connectionsReset: await proxy.endAll(by: .reset)
        case .connectionsClosed: await proxy.endAll(by: .close)
        case .answersCut: try await cut(.down)
        case .requestsCut: try await cut(.up)
        case .blackHole:
            try await proxy.openBlackHole()
            // Longer than the limit for an answer, or not.
            try await last(.seconds(Int.random(in: 1...14, using: &random)))
            await proxy.closeBlackHole()
        case .lateness:
            await proxy.delay(by: .milliseconds(Int.random(in: 20...400, using: &random)))
            try await scene.goesOn(200)
            await proxy.delay(by: .zero)
        case .gatewayAway:
            await proxy.refuse()
            await proxy.endAll(by: .reset)
            try await last(.seconds(Int.random(in: 1...5, using: &random)))
            try await proxy.admit()
        case .gatewayRestarted:
            await scene.simulator.stop()
            try await scene.simulator.start()
        case .tokensDead: try await scene.enqueue(50, prefix: "dead")
        case .tokensBusy: try await scene.enqueue(50, prefix: "b5b5")
        case .certificateReplaced:
            let issued = try scene.simulator.issueCertificate(topics: [Scene.topic])
            try await scene.write(issued.certificate, issued.privateKey)
        case .sessionsEnded: try await scene.terminateWorkers()
        case .workerKilled:
            let victim = takeVictim()
            victim.kill()
            try await victim.end()
            others.append(try await Self.worker(in: scene))
        case .workerStopped:
            let victim = takeVictim()
            #expect(try await victim.stop() == .status(0))
            others.append(try await Self.worker(in: scene))
        case .workerFrozen:
            let victim = try #require(others.randomElement(using: &random))
            victim.freeze()
            // Or shorter than a lease.
            try await last(.milliseconds(Int.random(in: 500...5000, using: &random)))
            victim.resume()
        }
    }

    private mutating func cut(_ direction: Proxy.Direction) async throws {
        let cuts = await proxy.cuts
        await proxy.cut(direction, afterBytes: .random(in: 1...20_000, using: &random))
        let proxy = self.proxy
        try await scene.eventually("a connection was cut") { await proxy.cuts > cuts }
    }

    private mutating func takeVictim() -> WorkerProcess {
        others.remove(at: .random(in: others.indices, using: &random))
    }

    private func last(_ duration: Duration) async throws {
        let end = MonotonicInstant.now + duration
        try await scene.eventually("it lasted \(duration)", within: duration + .seconds(60)) { .now >= end }
    }
}
