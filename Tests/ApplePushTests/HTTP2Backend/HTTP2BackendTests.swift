import ApplePush
import CarillonHTTP2
import Synchronization
import TestSupport
import Testing

/// A backend around a test, with one connection at a time and time limits for the slowest machine. Tests of a time limit
/// shorten it.
func withBackend<R>(
    _ change: (inout HTTP2Configuration) -> Void = { _ in },
    _ body: (HTTP2Backend) async throws -> R
) async throws -> R {
    var configuration = HTTP2Configuration.oneConnection
    change(&configuration)
    let backend = HTTP2Backend(configuration)
    return try await attempt {
        try await body(backend)
    } finally: {
        await backend.shutdown()
    }
}

/// The device token of that number: 00000000, 00000001 and so on.
func token(_ number: Int, digits width: Int = 64, prefix: String = "") -> String {
    let digits = String(number, radix: 16)
    return prefix + String(repeating: "0", count: width - prefix.count - digits.count) + digits
}

/// A batch with one message to that many tokens: 00000000, 00000001 and so on.
func batch(
    _ count: Int,
    digits width: Int = 8,
    payload: String = #"{"aps":{"alert":"Hello"}}"#,
    topic: String = "org.example.app"
) -> PushBatch {
    var batch = PushBatch()
    let heading = batch.addHeading(payload, topic: topic)
    for number in 0..<count {
        batch.addPush(token(number, digits: width), heading: heading, id: PushID(high: 0xabcd, low: UInt64(number)))
    }
    return batch
}

/// How many pushes ended in each way.
func count(_ outcomes: Outcomes) -> [Outcome.Verdict: Int] {
    outcomes.reduce(into: [:]) { $0[$1.verdict, default: 0] += 1 }
}

@Suite struct HTTP2BackendTests {
    @Test func `a message reaches the gateway with all its fields`() async throws {
        try await TestGateway.accepting { server, gateway, backend in
            let session = Session(backend: backend)
            let connection = session.connection(to: gateway, credential: try TestCredential.certificate())
            let message = try Message(
                tokens: ["a1b2", "C3D4"],
                alert: "Hello",
                pushType: .voip,
                priority: 5,
                expiry: .at(1_900_000_000),
                collapseID: "group 1"
            )
            let result = try await APNs(connection).send(message)
            #expect(result.accepted == 2)
            #expect(!result.needsRetry)
            let seen = server.seen
            #expect(seen.map(\.token) == ["a1b2", "C3D4"])
            let first = try #require(seen.first)
            #expect(first.body == #"{"aps":{"alert":"Hello"}}"#)
            #expect(first.fields[":method"] == "POST")
            #expect(first.fields[":scheme"] == "https")
            #expect(first.fields[":path"] == "/3/device/a1b2")
            #expect(first.fields[":authority"] == gateway.description)
            #expect(first.fields["apns-topic"] == "org.example.app.voip")
            #expect(first.fields["apns-push-type"] == "voip")
            #expect(first.fields["apns-priority"] == "5")
            #expect(first.fields["apns-expiration"] == "1900000000")
            #expect(first.fields["apns-collapse-id"] == "group 1")
            #expect(first.fields["authorization"] == nil)
            #expect(PushID(first.id) != nil)
            #expect(Set(seen.map(\.id)).count == 2)
        }
    }

    @Test func `each push of a large batch gets its own answer`() async throws {
        let count = 20_000
        try await TestGateway.withBackend(streams: 100) { seen in
            switch seen.token.last {
            case "1": [.answer(410, #"{"reason":"Unregistered","timestamp":17000000000\#(seen.token.suffix(2))}"#)]
            case "2": [.answer(400, #"{"reason":"BadDeviceToken"}"#)]
            case "3": [.answer(503, #"{"reason":"SomethingNew"}"#, retryAfter: 7)]
            default: [.answer(200)]
            }
        } test: { server, gateway, backend in
            let batch = batch(count)
            let outcomes = await backend.deliver(batch, to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.count == count)
            for (index, outcome) in outcomes.enumerated() {
                let token = batch.token(of: index)
                let expected: (Outcome.Verdict, Int, String) =
                    switch token.last {
                    case "1": (.rejected, 410, "Unregistered")
                    case "2": (.rejected, 400, "BadDeviceToken")
                    case "3": (.rejected, 503, "SomethingNew")
                    default: (.accepted, 200, "")
                    }
                if outcome.verdict != expected.0 || Int(outcome.status) != expected.1
                    || outcomes.text(of: outcome.reason) != expected.2
                {
                    Issue.record("\(token): \(outcome)")
                }
            }
            #expect(outcomes[3].retryAfter == 7)
            let seen = server.seen
            #expect(seen.count == count)
            #expect(Set(seen.map(\.token)).count == count)
            #expect(seen.allSatisfy { $0.id == PushID(high: 0xabcd, low: UInt64($0.token, radix: 16)!).description })
        }
    }

    @Test func `a topic with a line break is not sent, and does not affect other messages`() async throws {
        try await TestGateway.accepting { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let bad = await backend.deliver(batch(3, topic: "org\r\nx: y"), to: gateway, with: credential)
            #expect(bad.allSatisfy { $0.verdict == .rejected && $0.reason == .malformedHeader && $0.status == 0 })
            let good = await backend.deliver(batch(3), to: gateway, with: credential)
            #expect(good.allSatisfy { $0.verdict == .accepted })
            #expect(server.seen.count == 3)
        }
    }

    @Test func `a connection is reused, and another credential has its own`() async throws {
        try await TestGateway.accepting { server, gateway, backend in
            let credential = try TestCredential.certificate()
            for _ in 0..<5 { _ = await backend.deliver(batch(1), to: gateway, with: credential) }
            #expect(server.connections == 1)
            _ = await backend.deliver(batch(1), to: gateway, with: try TestCredential.certificate())
            #expect(server.connections == 2)
            let single = Session(backend: backend).newConnection(to: gateway, credential: credential)
            _ = await single.deliver(batch(1))
            _ = await single.deliver(batch(1))
            #expect(server.connections == 4)
        }
    }

    @Test
    func `deliveries that race with outdate leave no connection open`() async throws {
        try await TestGateway.accepting { _, gateway, backend in
            let credential = try TestCredential.certificate()
            for _ in 0..<50 {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .accepted
                        }
                        group.addTask {
                            await backend.outdate(idle: .zero)
                            return true
                        }
                    }
                    for await wentWell in group { #expect(wentWell) }
                }
            }
            await backend.outdate(idle: .zero)
            let open = backend.traffic.connections
            #expect(open == 0)
        }
    }

    @Test func `a connection of a replaced credential is closed when the last push that waits for it is cancelled`()
        async throws
    {
        let (steps, step) = AsyncStream.makeStream(of: Void.self)
        try await RawGateway.withBackend { line in
            if line.number == 1 {
                try await line.greet([(3, 1)])
                _ = try await line.nextRequest()
            } else {
                try await line.greet([(3, 0)])
                // The answer shows that the client has read the settings.
                try await line.send(FrameBytes.ping(1))
                while let frame = try await line.nextFrame(), frame.type != 6 {}
            }
            step.yield()
            try await line.listen()
        } test: { _, gateway, backend in
            let credential = try TestCredential.certificate()
            async let inFlight = backend.deliver(batch(1), to: gateway, with: credential)
            for await _ in steps { break }
            await backend.outdate(credential: credential)
            let waiting = Task { await backend.deliver(batch(1), to: gateway, with: credential) }
            for await _ in steps { break }
            waiting.cancel()
            #expect(await waiting.value[0].verdict == .safe)
            try await eventually { backend.traffic.ends == ["replaced": 1] }
            #expect(backend.traffic.connections == 1)
            await backend.shutdown()
            #expect(await inFlight[0].verdict == .unknown)
        }
    }

    @Test func `a connection is closed after the idle timeout`() async throws {
        try await TestGateway.accepting {
            $0.idleTimeout = .milliseconds(20)
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            _ = await backend.deliver(batch(1), to: gateway, with: credential)
            var ends = server.ends.makeAsyncIterator()
            #expect(await ends.next() == 1)
            let outcomes = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(outcomes[0].verdict == .accepted)
            #expect(server.connections == 2)
        }
    }

    @Test func `another connection is made when pushes have to wait for streams`() async throws {
        try await TestGateway.withBackend(streams: 3) {
            $0.connections = 2
            $0.requestTimeout = .seconds(3)
        } _: { seen in
            seen.connection == 1 && seen.number > 1 ? [] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(9), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes[1...3].allSatisfy { $0.verdict == .unknown })
            #expect(server.connections >= 2)
            #expect(server.seen.contains { $0.connection == 2 })
        }
    }

    @Test func `large payloads arrive complete although the kernel's buffer is full`() async throws {
        let payload = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4000))"}}"#
        try await TestGateway.accepting(streams: 1000) { server, gateway, backend in
            let batch = batch(3000, payload: payload)
            let outcomes = await backend.deliver(batch, to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(server.seen.count == 3000)
            #expect(server.seen.allSatisfy { $0.body == payload })
        }
    }

    @Test func `messages from many concurrent tasks are all answered`() async throws {
        try await TestGateway.accepting { server, gateway, backend in
            let apns = try APNs(backend, to: gateway)
            let delivered = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let message = try Message(tokens: ["a1", "b2"], alert: "Hello \(number)", badge: number)
                        return try await apns.send(message).accepted
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(delivered == 1000)
            #expect(Set(server.seen.map(\.body)).count == 500)
            #expect(Set(server.seen.map(\.id)).count == 1000)
            #expect(server.connections == 1)
        }
    }
}
