import ApplePush
import IO

/// Pushes by the thousand, each to a token of its own with an identity of its own, and how fast they are answered.
struct Volley {
    static let batchSize = 1000
    /// Batches under way at once: enough that streams never wait for the next.
    static let batches = 6

    let pushes: Int
    let payload: [UInt8]

    /// A payload of about so many bytes.
    static func payload(of count: Int) -> [UInt8] {
        let start = #"{"aps":{"alert":{"title":"Carillon","body":""#
        let end = #""},"badge":1,"sound":"default"}}"#
        let text = "Twelve o'clock, and all is well. "
        let room = max(0, count - start.utf8.count - end.utf8.count)
        let body = String(repeating: text, count: room / text.utf8.count + 1).prefix(room)
        return Array("\(start)\(body)\(end)".utf8)
    }

    /// Sends all of them and says how many a second that were; every one must be delivered.
    func rate(by backend: HTTP2Backend, to gateway: Gateway, as credential: Credential) async throws -> Double {
        let prepared = stride(from: 0, to: self.pushes, by: Self.batchSize).map { first in
            self.batch(first / Self.batchSize, of: min(Self.batchSize, self.pushes - first))
        }
        let start = MonotonicInstant.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.batches {
                group.addTask {
                    for number in stride(from: lane, to: prepared.count, by: Self.batches) {
                        try Self.check(await backend.deliver(prepared[number], to: gateway, with: credential))
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(self.pushes) / ((MonotonicInstant.now - start) / .seconds(1))
    }

    /// Every one must be delivered.
    static func check(_ outcomes: Outcomes) throws {
        if let failure = outcomes.connectFailure { throw failure }
        if let bad = outcomes.first(where: { $0.verdict != .delivered }) {
            throw BenchmarkError("A push ended as \(bad).")
        }
    }

    /// The batch of that number.
    func batch(_ number: Int, of count: Int) -> PushBatch {
        var batch = PushBatch()
        let topic = Array(Team.topic.utf8)
        let none: [UInt8] = []
        let heading = batch.addHeading(
            payload: self.payload.span.bytes,
            topic: topic.span.bytes,
            priority: 10,
            collapseID: none.span.bytes
        )
        for place in 0..<count {
            let token = Self.token(number * Self.batchSize + place)
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
