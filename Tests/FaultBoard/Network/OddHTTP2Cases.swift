import ApplePushSimulator
import CarillonIO
import Synchronization
import TestSupport
import Testing

@testable import ApplePush

/// Gateways with wrong or unusual HTTP/2. The simulator answers, and a relay before it adds other frames on some
/// connections.
@Suite struct OddHTTP2Cases {
    // MARK: Goodbyes

    @Test func `H1: GOAWAY after every hundred requests loses no push and sends none twice`() async throws {
        try await Scene.with {
            $0.goAwayAfter = 100
        } _: { scene in
            try await scene.enqueue(Board.sized(5000, full: 50_000))
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await scene.drained()
            #expect(try await worker.unknownOutcomes == 0)
            try await scene.finish()
        }
    }

    @Test func `H2: GOAWAY in two steps leaves no outcome unknown`() async throws {
        let highest = Guarded<[Int: UInt32]>([:])
        let lasts = Guarded<[Int: UInt32]>([:])
        try await Scene.send { frame in
            if frame.direction == .up {
                // A gateway ignores requests above the last stream of its GOAWAY.
                if let last = lasts.withLock({ $0[frame.connection] }), frame.frame.stream > last { return [] }
                if frame.frame.isHeaders { highest.withLock { $0[frame.connection] = frame.frame.stream } }
            }
            guard frame.isAnswer, frame.connection <= 5 else { return [.pass] }
            switch frame.answers {
            case 20: return [.pass, .say(FrameBytes.goAway(last: (1 << 31) - 1))]
            case 40:
                let last = highest.withLock { $0[frame.connection] ?? 0 }
                lasts.withLock { $0[frame.connection] = last }
                return [.pass, .say(FrameBytes.goAway(last: last))]
            default: return [.pass]
            }
        } then: { _, worker, relay async throws in
            #expect(try await worker.unknownOutcomes == 0)
            #expect(relay.connections > 5)
        }
    }

    @Test func `H3: a second GOAWAY with a higher stream ends the connection`() async throws {
        try await Scene.survive(
            Array(repeating: { FrameBytes.goAway(last: $0 + 2) + FrameBytes.goAway(last: $0 + 100) }, count: 3)
        )
    }

    @Test func `H4: GOAWAY after every ten requests only slows the worker down`() async throws {
        try await Scene.with {
            $0.goAwayAfter = 10
        } _: { scene in
            let pushes = 400
            try await scene.enqueue(pushes)
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await scene.drained()
            #expect(try await worker.unknownOutcomes == 0)
            let connections = await scene.simulator.statistics().connections
            #expect((pushes / 10...pushes / 10 + 10).contains(connections))
            try await scene.finish()
        }
    }

    @Test(.scene)
    func `H5: GOAWAY with a certificate reason pauses the app, SQL says why, and a new row resumes it`() async throws {
        let isBlamed = Guarded(true)
        let judge: Relay.Judge = { frame in
            guard frame.isAnswer, frame.answers == 5, isBlamed.withLock({ $0 }) else { return [.pass] }
            return [.pass, .say(FrameBytes.goAway(last: frame.frame.stream, 0, #"{"reason":"BadCertificate"}"#))]
        }
        try await scene.withRelay(judge) { _ in
            try await scene.enqueue(500)
            _ = try scene.fleet.start(lease: Fleet.calm)
            try await scene.credential(is: "rejected")
            let error = try await scene.credential("last_error")
            #expect(error.contains("BadCertificate"))
            isBlamed.withLock { $0 = false }
            let issued = try scene.simulator.issueCertificate(topics: [Scene.topic])
            try await scene.write(issued.certificate, issued.privateKey)
            // The simulator handles streams above that number, since it has not sent the GOAWAY.
            try await scene.finish(duplicates: 20 * Scene.inFlight)
        }
    }

    // MARK: Streams

    @Test func `H6: when half of all streams are refused, each push is accepted in the end, once`() async throws {
        let refused = Guarded<Set<UInt32>>([])
        try await Scene.send { frame in
            guard frame.direction == .up, frame.frame.isHeaders || frame.frame.isData else { return [.pass] }
            let stream = frame.frame.stream
            // The first of them fill the server's compression table.
            if stream < 41 || stream & 2 == 0 { return [.pass] }
            guard frame.frame.isHeaders else { return [] }
            refused.withLock { _ = $0.insert(stream) }
            return [.say(FrameBytes.reset(stream, 7))]
        } then: { scene, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 0)
            #expect(refused.withLock { $0.count } > 500)
            let attempts = try await scene.client.number("SELECT max(r.attempts) FROM carillon.results r")
            #expect(attempts == 1, "what was refused so has not been tried")
        }
    }

    @Test func `H7: pushes on reset streams have an unknown outcome, and are sent again`() async throws {
        let resets = Atomic<Int>(0)
        // A push that is reset four times is not sent a fifth time: one of ten thousand.
        try await Scene.send(duplicates: 2000, localReasons: ["OutcomeUnknown"]) { frame in
            guard frame.isAnswer, frame.answers.isMultiple(of: 10) else { return [.pass] }
            resets.wrappingAdd(1, ordering: .relaxed)
            return [.say(FrameBytes.reset(frame.frame.stream, frame.answers.isMultiple(of: 20) ? 2 : 8))]
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == Double(resets.load(ordering: .relaxed)))
        }
    }

    @Test func `H8: one stream at first and a thousand later, and the worker follows`() async throws {
        let open = Guarded((now: 0, peak: 0, peakBefore: 0))
        try await Scene.send(2000, ["--connections", "1"]) { frame in
            if frame.direction == .down, frame.frame.type == 4, frame.frame.flags == 0 {
                return [.say(FrameBytes.settings([(3, 1)]))]
            }
            if frame.direction == .up, frame.frame.isHeaders {
                open.withLock { open in
                    open.now += 1
                    open.peak = max(open.peak, open.now)
                }
            }
            guard frame.isAnswer else { return [.pass] }
            open.withLock { open in
                open.now -= 1
                if frame.answers == 50 { open.peakBefore = open.peak }
            }
            return frame.answers == 50 ? [.pass, .say(FrameBytes.settings([(3, 1_000)]))] : [.pass]
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 0)
            let (before, peak) = open.withLock { ($0.peakBefore, $0.peak) }
            #expect(before == 1 && peak > 10, "\(before), \(peak)")
        }
    }

    @Test func `H9: streams may go to one, to none and back, and a connection without any is replaced`() async throws {
        try await Scene.send(3000, ["--connections", "1"]) { frame in
            // Once it answers a ping, the client has seen that there is none.
            if frame.direction == .up, frame.frame.type == 6, frame.connection == 1 {
                return [.say(FrameBytes.settings([(3, 1_000)]))]
            }
            guard frame.isAnswer, frame.connection == 1 else { return [.pass] }
            switch frame.answers {
            case 200: return [.pass, .say(FrameBytes.settings([(3, 1)]))]
            case 400: return [.pass, .say(FrameBytes.settings([(3, 0)]) + FrameBytes.ping(1))]
            case 1_200: return [.pass, .say(FrameBytes.settings([(3, 0)]))]
            default: return [.pass]
            }
        } then: { _, worker, relay async throws in
            #expect(try await worker.unknownOutcomes == 0)
            #expect(relay.connections > 1, "after ten seconds without streams another connection is tried")
            let ends = try await worker.ends(by: "starved")
            #expect(ends == 1)
        }
    }

    @Test func `H10: windows that begin at nothing or fall below it lose no push`() async throws {
        try await Scene.send { frame in
            if frame.direction == .down, frame.frame.type == 4, frame.frame.flags == 0 {
                return [.pass, .say(FrameBytes.settings([(4, 0)]) + FrameBytes.ping(1))]
            }
            if frame.direction == .up, frame.frame.type == 6 { return [.say(FrameBytes.settings([(4, 65_535)]))] }
            if frame.isAnswer, frame.answers == 100 {
                return [.pass, .say(FrameBytes.settings([(4, 5)]) + FrameBytes.ping(1))]
            }
            return [.pass]
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 0)
        }
    }

    // MARK: Broken rules

    @Test func `H16: the connection ends and each push ends once whichever rule of HTTP/2 is broken`() async throws {
        try await Scene.survive([
            { _ in FrameBytes.windowUpdate(0, 0) }, { _ in FrameBytes.windowUpdate(0, (1 << 31) - 1) },
            { _ in FrameBytes.data(9_999, [1], end: true) },
            { FrameBytes.data($0, [UInt8](repeating: 0, count: 16_385)) },
            { FrameBytes.frame(5, flags: 4, stream: $0, [0, 0, 0, 2] + FrameBytes.block([(":method", "GET")])) },
            { _ in FrameBytes.settings([(5, 1)]) }, { _ in FrameBytes.headers(2, [(":status", "200")], end: true) },
        ])
    }

    @Test func `H17: a malformed answer costs its own push a second attempt, and no other`() async throws {
        let answers: [[(String, String)]] = [
            [("apns-id", "x")], [(":status", "200"), (":status", "200")], [(":status", "2xx")],
            [(":status", "200"), ("Apns-Id", "x")], [(":status", "099")],
        ]
        try await Scene.send(duplicates: answers.count) { frame in
            guard frame.isAnswer, frame.connection == 1, frame.answers > 20, frame.answers <= 20 + answers.count else {
                return [.pass]
            }
            return [.say(FrameBytes.headers(frame.frame.stream, answers[frame.answers - 21], end: true))]
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == Double(answers.count))
            // A slow machine may need another connection, but none ends because of an answer.
            let ended = try await worker.ends().filter { line in
                !["idle", "spare", "aged"].contains { line.contains("end=\"\($0)\"") } && !line.hasSuffix(" 0")
            }
            #expect(ended.isEmpty)
        }
    }

    @Test(.scene)
    func `H19: a gateway that never acknowledges SETTINGS is abandoned after ten seconds, and nothing is lost`()
        async throws
    {
        let judge: Relay.Judge = { frame in
            let isAcknowledgement = frame.frame.type == 4 && frame.frame.flags & 1 != 0
            return isAcknowledgement && frame.direction == .down && frame.connection == 1 ? [] : [.pass]
        }
        try await scene.withRelay(judge) { relay in
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await scene.underLoad(depth: 200) {
                try await scene.eventually("another connection was made") { relay.connections > 1 }
            }
            try await scene.drained()
            #expect(try await worker.unknownOutcomes == 0)
            try await scene.finish()
        }
    }

    @Test func `H21: each push ends once, whatever bytes a gateway sends`() async throws {
        let connections = Board.sized(10, full: 200)
        let seed = Board.seed
        try await Scene.send(Board.sized(3000, full: 20_000), duplicates: connections * Scene.inFlight) { frame in
            guard frame.isAnswer, frame.answers == 30, frame.connection <= connections else { return [.pass] }
            var random = SeededGenerator(seed: seed &+ UInt64(frame.connection))
            let bytes = (0..<Int.random(in: 1...2_000, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            // After bytes that do not make a whole frame the client waits for the rest.
            return [.pass, .say(bytes), .close]
        }
    }

    // MARK: Late, early, and at the end

    @Test func `H18: answers may come out of order, and a late one counts for no other push`() async throws {
        let held = Guarded<[UInt8]>([])
        let late = Guarded<(stream: UInt32, answer: [UInt8])?>(nil)
        try await Scene.send(
            duplicates: 1,
            ["--request-timeout", Board.sized("15s", full: "3s"), "--connections", "1"]
        ) { frame in
            guard frame.connection == 1 else { return [.pass] }
            if frame.direction == .up, frame.frame.type == 3 {
                // The client has abandoned the push: now the answer comes.
                let answer = late.withLock { late in late?.stream == frame.frame.stream ? late.take()?.answer : nil }
                return [.pass] + (answer.map { [.say($0)] } ?? [])
            }
            guard frame.isAnswer, frame.answers <= 401 else { return [.pass] }
            if frame.answers == 401 {
                late.withLock { $0 = (frame.frame.stream, frame.frame.bytes) }
                return []
            }
            return held.withLock { held in
                held = frame.frame.bytes + held
                if !frame.answers.isMultiple(of: 8) { return [] }
                defer { held = [] }
                return [.say(held)]
            }
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 1)
            let missed = try await worker.metric("carillon_push_timeouts_total")
            #expect(missed == 1)
        }
    }

    @Test func `H20: a connection is retired long before its stream numbers are used up`() {
        let configuration = HTTP2Configuration()
        var life = ConnectionLife(writeTimeout: configuration.writeTimeout, maximumAge: configuration.maximumAge)
        let deadlines = HTTP2Deadlines(configuration, at: .now)
        life.connected(at: .now)
        life.opened()
        deadlines.opened((1 << 30) - 1, &life)
        #expect(life.isReady)
        deadlines.opened((1 << 30) + 1, &life)
        #expect(life.phase == .draining(.exhausted))
    }
}
