import ApplePush
import IO
import Simulator

/// Our sender against `h2load`, in turn, on the same simulator: one connection each, 1,000 streams, the same headers and
/// payload. Ours sends to a distinct token with a distinct `apns-id` each time, which `h2load` cannot.
struct SenderBenchmark {
    /// How often each of the two runs; the medians count.
    let rounds = 3
    let pushes: Int
    let batchSize = 1000
    /// Batches under way at once: enough that streams never wait for the next.
    let batches = 6
    let payload =
        #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock, and all is well."},"badge":1,"sound":"default"}}"#

    func run(into report: inout Report) async throws {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.providerKeys = [try team.providerKey()]
        configuration.maximumStreams = 1000
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let gateway = Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM))

        var ours: [Double] = []
        var theirs: [Double] = []
        let load = try H2Load(requests: self.pushes, port: simulator.port, payload: self.payload, team: team)
        _ = try await self.rate(to: gateway, as: team)
        for _ in 0..<self.rounds {
            ours.append(try await self.rate(to: gateway, as: team))
            theirs.append(try await load.rate())
        }
        await simulator.stop()
        let rate = ours.sorted()[self.rounds / 2]
        let yardstick = theirs.sorted()[self.rounds / 2]
        report.note("h2load, requests a second", Report.grouped(yardstick))
        report.note("our sender, pushes a second", Report.grouped(rate))
        report.ratio("our sender / h2load", rate / yardstick, atLeast: 0.7, aim: 0.9)
    }

    /// Pushes a second through one warm connection.
    private func rate(to gateway: Gateway, as team: Team) async throws -> Double {
        var configuration = HTTP2Configuration()
        configuration.connections = 1
        let backend = HTTP2Backend(configuration)
        // The connection is made and the provider token accepted before time counts.
        try Self.check(await backend.deliver(self.batch(0, of: 1), to: gateway, with: team.credential))
        let prepared = (0..<self.pushes / self.batchSize).map { self.batch($0, of: self.batchSize) }
        let start = MonotonicInstant.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<self.batches {
                group.addTask {
                    for number in stride(from: lane, to: prepared.count, by: self.batches) {
                        try Self.check(await backend.deliver(prepared[number], to: gateway, with: team.credential))
                    }
                }
            }
            try await group.waitForAll()
        }
        let time = MonotonicInstant.now - start
        await backend.shutdown()
        return Double(self.pushes) / (time / .seconds(1))
    }

    private static func check(_ outcomes: Outcomes) throws {
        if let failure = outcomes.connectFailure { throw failure }
        if let bad = outcomes.first(where: { $0.verdict != .delivered }) {
            throw BenchmarkError("A push ended as \(bad).")
        }
    }

    private func batch(_ number: Int, of count: Int) -> PushBatch {
        var batch = PushBatch()
        let topic = Array(Team.topic.utf8)
        let payload = Array(self.payload.utf8)
        let none: [UInt8] = []
        let heading = batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            priority: 10,
            collapseID: none.span.bytes
        )
        for place in 0..<count {
            let token = Self.token(number * self.batchSize + place)
            let id = PushID.derived(installation: (1, 2), message: Int64(number), token: token.span.bytes)
            batch.addPush(token: token.span.bytes, heading: heading, id: id)
        }
        return batch
    }

    /// 64 hexadecimal digits that differ from push to push.
    private static func token(_ number: Int) -> [UInt8] {
        let digits = Array(String(number, radix: 16).utf8)
        return Array(repeating: UInt8(ascii: "a"), count: 64 - digits.count) + digits
    }
}
