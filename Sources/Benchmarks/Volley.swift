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

    /// Sends all of them and says how many a second that were. What ends otherwise than delivered is sent again, with the
    /// same identity, where that is to be expected.
    func rate(
        by backend: HTTP2Backend,
        to gateway: Gateway,
        as credential: Credential,
        again: Bool = false
    ) async throws -> Double {
        let prepared = (0..<self.pushes / Self.batchSize).map { self.batch($0, of: Self.batchSize) }
        let start = MonotonicInstant.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.batches {
                group.addTask {
                    for number in stride(from: lane, to: prepared.count, by: Self.batches) {
                        try await self.send(prepared[number], number, by: backend, to: gateway, as: credential, again)
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(self.pushes) / ((MonotonicInstant.now - start) / .seconds(1))
    }

    private func send(
        _ batch: PushBatch,
        _ number: Int,
        by backend: HTTP2Backend,
        to gateway: Gateway,
        as credential: Credential,
        _ again: Bool
    ) async throws {
        var batch = batch
        while true {
            let outcomes = await backend.deliver(batch, to: gateway, with: credential)
            let left = outcomes.indices.filter { outcomes[$0].verdict != .delivered }
            if left.isEmpty { return }
            if let failure = outcomes.connectFailure, !again { throw failure }
            guard again, left.allSatisfy({ outcomes[$0].isRetryable }) else {
                throw BenchmarkError("A push ended as \(outcomes[left[0]]).")
            }
            batch = self.batch(number, of: Self.batchSize, tokens: left.map { batch.token(of: $0) })
        }
    }

    /// The batch of that number; of one that is sent again, only those tokens.
    func batch(_ number: Int, of count: Int, tokens: [String]? = nil) -> PushBatch {
        var batch = PushBatch()
        let topic = Array(Team.topic.utf8)
        let none: [UInt8] = []
        let heading = batch.addHeading(
            payload: self.payload.span.bytes,
            topic: topic.span.bytes,
            priority: 10,
            collapseID: none.span.bytes
        )
        let bytes =
            tokens.map { $0.map { Array($0.utf8) } }
            ?? (0..<count).map { Self.token(number * Self.batchSize + $0) }
        for token in bytes {
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
