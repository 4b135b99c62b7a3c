import IO
import Simulator
import TestSupport
import Testing

/// A fleet in which one worker stays from the beginning to the end and is watched, while others come and go and
/// everything around it breaks.
struct Soak {
    /// How many pushes a worker may have in flight.
    static let most = 500
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
        self.random = SeededGenerator(seed: Board.seed)
        self.watched = try await Self.worker(in: scene)
        self.others = [try await Self.worker(in: scene), try await Self.worker(in: scene)]
    }

    /// The most pushes that can have gone out twice: what all of them had in flight at each fault.
    var duplicates: Int { self.faults.values.reduce(0, +) * (1 + self.others.count) * Self.most }

    mutating func goOn(for duration: Duration) async throws {
        let end = MonotonicInstant.now + duration
        while .now < end {
            let fault = try #require(SoakFault.allCases.randomElement(using: &self.random))
            self.faults[fault, default: 0] += 1
            try await self.bring(fault)
            try await self.scene.goesOn(200, within: .seconds(120))
            self.curve.append(try #require(Usage(of: self.watched.processID), "the watched worker died"))
        }
    }

    private static func worker(in scene: Scene) async throws -> WorkerProcess {
        try await scene.fleet.started(["--max-in-flight", "\(Self.most)", "--connections", "\(Self.connections)"])
    }

    private mutating func bring(_ fault: SoakFault) async throws {
        switch fault {
        case .connectionsReset: await self.proxy.endAll(by: .reset)
        case .connectionsClosed: await self.proxy.endAll(by: .close)
        case .answersCut: try await self.cut(.down)
        case .requestsCut: try await self.cut(.up)
        case .blackHole:
            try await self.proxy.openBlackHole()
            // Longer than the limit for an answer, or not.
            try await self.last(.seconds(Int.random(in: 1...14, using: &self.random)))
            await self.proxy.closeBlackHole()
        case .lateness:
            await self.proxy.delay(by: .milliseconds(Int.random(in: 20...400, using: &self.random)))
            try await self.scene.goesOn(200)
            await self.proxy.delay(by: .zero)
        case .gatewayAway:
            await self.proxy.refuse()
            await self.proxy.endAll(by: .reset)
            try await self.last(.seconds(Int.random(in: 1...5, using: &self.random)))
            try await self.proxy.admit()
        case .gatewayRestarted:
            await self.scene.simulator.stop()
            try await self.scene.simulator.start()
        case .tokensDead: try await self.scene.enqueue(50, prefix: "dead")
        case .tokensBusy: try await self.scene.enqueue(50, prefix: "b5b5")
        case .certificateReplaced:
            let issued = try self.scene.simulator.issueCertificate(topics: [Scene.topic])
            try await self.scene.write(issued.certificate, issued.privateKey)
        case .sessionsEnded: try await self.scene.terminateWorkers()
        case .workerKilled:
            let victim = self.takeVictim()
            victim.kill()
            try await victim.end()
            self.others.append(try await Self.worker(in: self.scene))
        case .workerStopped:
            let victim = self.takeVictim()
            victim.terminate()
            #expect(try await victim.end() == .status(0))
            self.others.append(try await Self.worker(in: self.scene))
        case .workerFrozen:
            let victim = try #require(self.others.randomElement(using: &self.random))
            victim.freeze()
            // Or shorter than a lease.
            try await self.last(.milliseconds(Int.random(in: 500...5000, using: &self.random)))
            victim.resume()
        }
    }

    private mutating func cut(_ direction: Proxy.Direction) async throws {
        let cuts = await self.proxy.cuts
        await self.proxy.cut(direction, afterBytes: .random(in: 1...20_000, using: &self.random))
        let proxy = self.proxy
        try await self.scene.eventually("a connection was cut") { await proxy.cuts > cuts }
    }

    private mutating func takeVictim() -> WorkerProcess {
        self.others.remove(at: .random(in: self.others.indices, using: &self.random))
    }

    private func last(_ duration: Duration) async throws {
        let end = MonotonicInstant.now + duration
        try await self.scene.eventually("it lasted \(duration)", within: duration + .seconds(60)) { .now >= end }
    }
}
