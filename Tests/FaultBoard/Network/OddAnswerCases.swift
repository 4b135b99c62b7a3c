import ApplePushSimulator
import CarillonIO
import Synchronization
import TestSupport
import Testing

/// Undocumented answers: the status decides, for the push of its stream only.
@Suite struct OddAnswerCases {
    /// A body in place of the gateway's, and the result of the push.
    private struct Body: Sendable {
        let status: UInt16
        let bytes: [UInt8]
        /// The reason in `failures`; nil: the push is sent again, and accepted.
        let reason: String?

        init(_ status: UInt16, _ text: String, fails reason: String? = nil) {
            self.init(status, Array(text.utf8), fails: reason)
        }

        init(_ status: UInt16, _ bytes: [UInt8], fails reason: String? = nil) {
            self.status = status
            self.bytes = bytes
            self.reason = reason
        }

        /// The body in frames of a size that is allowed.
        func frames(on stream: UInt32) -> [RelayAct] {
            let starts = bytes.isEmpty ? [0] : Array(stride(from: 0, to: bytes.count, by: 16_384))
            return starts.map { start in
                let end = min(start + 16_384, bytes.count)
                return .say(FrameBytes.data(stream, Array(bytes[start..<end]), end: end == bytes.count))
            }
        }
    }

    private static let bodies: [Body] = {
        let long = String(repeating: "x", count: 10_240)
        let unregistered = #"{"reason":"Unregistered","timestamp":"#
        return [
            Body(400, "", fails: ""), Body(400, "<html>Bad Gateway</html>", fails: ""), Body(400, "null", fails: ""),
            Body(400, #"{"reason":7}"#, fails: ""), Body(400, #"{"reason":"BadWeather"}"#, fails: "BadWeather"),
            Body(400, #"{"reason":"\#(long)"}"#, fails: ""),
            Body(400, #"{"reason":"\#(long.prefix(3_000))"}"#, fails: String(long.prefix(100))),
            Body(400, Array(#"{"reason":""#.utf8) + [0, 0xff] + Array(#""}"#.utf8), fails: "?\u{fffd}"),
            Body(404, [UInt8](repeating: 120, count: Board.sized(1 << 20, full: 20 << 20)), fails: ""),
            Body(410, "", fails: ""), Body(410, #"{"reason":"Unregistered"}"#, fails: "Unregistered"),
            Body(410, unregistered + "-1}", fails: "Unregistered"),
            Body(410, unregistered + "1e30}", fails: "Unregistered"),
            Body(410, unregistered + #""1700000000000"}"#, fails: "Unregistered"),
            Body(410, unregistered + "99999999999999999999}", fails: "Unregistered"), Body(429, ""),
            Body(429, "<html>"), Body(500, [UInt8](repeating: 120, count: 100_000)),
            Body(503, #"{"reason":"\#(long)"}"#), Body(599, #"{"reason":"#), Body(403, "<html>Forbidden</html>"),
        ]
    }()

    @Test func `H25: a push that is never answered is sent four times, and then its outcome is unknown`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=reset")] }) { scene in
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(50, prefix: "ee")
            try await scene.enqueue(1, tokens: 20, prefix: "ee")
            try await scene.enqueue(100)
            try await scene.drained()
            #expect(scene.record.requests == 100 + 4 * 70)
            #expect(
                try await scene.client.number("SELECT count(*) FROM carillon.failures WHERE reason = 'OutcomeUnknown'")
                    == 70
            )
            try await scene.finish(localReasons: ["OutcomeUnknown"])
        }
    }

    @Test func `H26: a push whose answer begins with 200 is sent once, however its stream ends`() async throws {
        let odd = Atomic<Int>(0)
        try await Scene.send { frame in
            guard frame.isAnswer, frame.answers.isMultiple(of: 10) else { return [.pass] }
            odd.wrappingAdd(1, ordering: .relaxed)
            let stream = frame.frame.stream
            let head = RelayAct.say(FrameBytes.headers(stream, [(":status", "200")]))
            switch frame.answers / 10 % 4 {
            case 0: return [head, .say(FrameBytes.reset(stream, 0))]
            case 1: return [head, .say(FrameBytes.reset(stream, 2))]
            case 2: return [head, .say(FrameBytes.data(stream, [120]))]
            default: return [head]
            }
        } then: { scene, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 0)
            #expect(scene.record.requests == 2000)
            #expect(odd.load(ordering: .relaxed) >= 100)
        }
    }

    @Test func `A7: the status of an answer decides, whatever its body`() async throws {
        let body = Guarded<Body?>(nil)
        // The answers under a rule have a body, which is replaced; all others have none.
        let judge: Relay.Judge = { frame in
            guard frame.direction == .down, frame.frame.isData else { return [.pass] }
            return body.withLock { $0.take() }?.frames(on: frame.frame.stream) ?? [.pass]
        }
        try await Scene.with({ configuration in
            configuration.answers = try Self.bodies.enumerated().map { number, body in
                let answer = AnswerRule.Action.answer(status: body.status, reason: body.reason ?? "", timestamp: .none)
                return try AnswerRule(prefix: Self.prefix(number), action: answer, times: 1)
            }
        }) { scene in
            try await scene.withRelay(judge) { _ in
                let worker = try await scene.fleet.started(lease: Fleet.calm)
                let begin = try await scene.client.number("SELECT extract(epoch FROM now())")
                var messages: [Ledger.Message] = []
                for (number, odd) in Self.bodies.enumerated() {
                    body.withLock { $0 = odd }
                    let message = scene.message(prefix: Self.prefix(number))
                    messages.append(message)
                    try await scene.enqueue(message)
                    try await scene.drained()
                    let isUsed = body.withLock { $0 == nil }
                    #expect(isUsed, "body \(number)")
                }
                // They are dead as of now, whatever the timestamp.
                let dead = Self.bodies.count { $0.status == 410 }
                let deadNow = """
                    SELECT count(*) FROM carillon.feedback f
                    WHERE f.unregistered_at BETWEEN to_timestamp(\(begin) - 1) AND clock_timestamp()
                    """
                #expect(try await scene.client.number(deadNow) == dead)
                #expect((worker.mostMemory ?? 0) < 200 << 20)
                #expect(try await worker.unknownOutcomes == 0)
                let audit = try await scene.finish()
                for (body, message) in zip(Self.bodies, messages) {
                    let failures = audit.outcomes.failures[message.reference]?.map(\.reason) ?? []
                    #expect(failures == (body.reason.map { [$0] } ?? []), "\(body.status), \(body.bytes.count) bytes")
                }
            }
        }
    }

    private static func prefix(_ number: Int) -> String { "a7" + String(0x100 + number, radix: 16) }

    @Test func `A8: an answer is about the push of its stream, whatever apns-id it carries`() async throws {
        // Headers with a body are refusals here. None of the gateway's own are forwarded, so that the compression state stays.
        let judge: Relay.Judge = { frame in
            guard frame.isAnswer else { return [.pass] }
            let (stream, isTaken) = (frame.frame.stream, frame.frame.endsStream)
            let status = (":status", isTaken ? "200" : "400")
            let ids: [[(String, String)]] = [
                [], [("apns-id", "")], [("apns-id", "no-such-id")],
                [("apns-id", "00000000-0000-0000-0000-000000000000")],
                [("apns-id", String(repeating: "f", count: 4_000))], [("apns-id", "a"), ("apns-id", "b")],
            ]
            return [.say(FrameBytes.headers(stream, [status] + ids[frame.answers % ids.count], end: isTaken))]
        }
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "a8=400:BadDeviceToken")] }) { scene in
            try await scene.withRelay(judge) { relay in
                let worker = try scene.fleet.start(["--connections", "1"], lease: Fleet.calm)
                try await scene.enqueue(1_000)
                try await scene.enqueue(200, prefix: "a8")
                try await scene.enqueue(1_000)
                try await scene.drained()
                #expect(try await worker.unknownOutcomes == 0)
                #expect(relay.connections == 1)
                let audit = try await scene.finish()
                #expect(scene.record.requests == 2_200, "each was asked for once")
                let failed = audit.outcomes.failures.values.joined().map(\.token)
                #expect(failed.count == 200)
                #expect(failed.allSatisfy { $0.hasPrefix("a8") })
            }
        }
    }

    @Test(.scene)
    func `A10: answers after the deadline count as late, and their pushes are sent once more`() async throws {
        // Each tenth answer of the first connection comes after the worker has abandoned its push.
        let held = Guarded<[UInt32: [UInt8]]>([:])
        let late = Atomic<Int>(0)
        let judge: Relay.Judge = { frame in
            guard frame.connection == 1 else { return [.pass] }
            if frame.direction == .up, frame.frame.type == 3 {
                guard let answer = held.withLock({ $0.removeValue(forKey: frame.frame.stream) }) else { return [.pass] }
                late.wrappingAdd(1, ordering: .relaxed)
                return [.pass, .say(answer)]
            }
            guard frame.isAnswer, frame.answers.isMultiple(of: 10), (30...220).contains(frame.answers) else {
                return [.pass]
            }
            held.withLock { $0[frame.frame.stream] = frame.frame.bytes }
            return []
        }
        try await scene.withRelay(judge) { _ in
            let flags = ["--request-timeout", "3s", "--connections", "1"]
            let worker = try scene.fleet.start(flags, lease: Fleet.calm)
            try await scene.enqueue(1_000)
            try await scene.drained()
            let missed = try await worker.metric("carillon_push_timeouts_total")
            let unknown = try await worker.unknownOutcomes
            let (twice, left) = (late.load(ordering: .relaxed), held.withLock { $0.count })
            // Several late ones in a row end a connection, and the other answers may be lost with it.
            #expect(twice + left == 20 && twice >= 3, "\(twice), \(left)")
            #expect(missed >= 20 && unknown == missed)
            // The audit checks that each second send has the first one's apns-id.
            let audit = try await scene.finish(duplicates: Int(missed))
            #expect(audit.duplicates >= 20)
            #expect(audit.outcomes.failures.isEmpty)
        }
    }
}
