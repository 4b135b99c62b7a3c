import ApplePushSimulator
import Synchronization
import TestSupport
import Testing

@testable import ApplePush
@testable import CarillonIO

/// Gateways that cannot be reached, or have a wrong certificate: nothing is sent, nothing fails, and no other app is affected.
@Suite struct UnreachableGatewayCases {
    /// A scene whose app cannot send until its settings are repaired.
    private func blocked(
        by breaking: (Scene) async throws -> Void,
        saying sentence: String,
        meanwhile body: (Scene) async throws -> Void = { #expect($0.record.requests == 0) }
    ) async throws {
        try await Scene.with { scene in
            try await breaking(scene)
            try await scene.enqueue(200)
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await worker.says(sentence)
            try await scene.eventually("the app was held") { try await worker.metric("carillon_app_held") == 1 }
            try await body(scene)
            try await scene.lead(to: "localhost:\(scene.simulator.port)", trusting: scene.simulator.rootPEM)
            try await scene.finish()
        }
    }

    @Test(.scene) func `N1: while a gateway is down no push fails, and afterwards all are sent`() async throws {
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        await scene.simulator.stop()
        try await scene.enqueue(500)
        try await scene.eventually("the app was held") { try await worker.metric("carillon_app_held") == 1 }
        try await scene.livesOn(worker, for: Board.sized(.seconds(2), full: .seconds(30)))
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
        try await scene.simulator.start()
        try await scene.finish()
    }

    @Test func `N2: connecting to an address that drops all packets times out after five seconds`() async throws {
        let silent = try SilentPort(host: "127.0.0.9")
        let port = silent.port
        try await blocked(
            by: { try await $0.lead(to: "127.0.0.9:\(port)", trusting: $0.simulator.rootPEM) },
            saying: "took longer than 5"
        )
        _ = consume silent
    }

    @Test
    func `N2, N9, N10: of ten addresses the one that answers is found, and tried first the next time`() async throws {
        try await TestLoop.with { loop in
            let listener = try Listener(host: "127.0.0.11", port: 0, on: loop) { _ in }
            defer { listener.close() }
            let port = listener.port
            let dead = try (2...10).map { try Box(SilentPort(host: "127.0.0.\($0)", port: port)) }
            let addresses = try (2...11).flatMap { try Resolver.lookUpNow("127.0.0.\($0)", port: port) }
            let first = try await TCP.race(
                host: "localhost",
                port: port,
                timeout: .seconds(60),
                on: loop,
                order: { _ in addresses }
            )
            #expect(first.address.host == "127.0.0.11")
            #expect(first.slower.count == 9)
            var book = AddressBook()
            book.failed(first.slower, at: .now)
            let known = book
            let second = try await TCP.race(
                host: "localhost",
                port: port,
                timeout: .seconds(60),
                on: loop,
                order: { _ in known.ordered(addresses, at: .now) }
            )
            #expect(second.address.host == "127.0.0.11")
            #expect(second.slower.isEmpty)
            _ = dead
        }
    }

    /// A silent port that can stand in an array.
    private final class Box {
        let port: SilentPort

        init(_ port: consuming SilentPort) { self.port = port }
    }

    @Test func `N6: a handshake that comes byte by byte times out like one that does not come`() async throws {
        try await TestLoop.with { loop in
            try await Reception.with(on: loop) { _, descriptor in
                let socket = Socket(owning: descriptor)
                var room = [UInt8](repeating: 0, count: 4_096)
                // A record of 16 KB, begun and never ended.
                for byte in [22, 3, 3, 64, 0] + [UInt8](repeating: 2, count: 16_384) {
                    let drop = [byte]
                    _ = try socket.write(drop.span.bytes)
                    let next = MonotonicInstant.now + .milliseconds(200)
                    do {
                        _ = try await loop.readiness(of: descriptor, for: .read, until: next, doing: "dropping")
                        guard case .bytes = try socket.read(into: &room) else { return }
                    } catch let error as IOError where error.code == .timedOut {
                        continue
                    }
                }
            } test: { _, port in
                try await blocked(
                    by: { try await $0.lead(to: "127.0.0.1:\(port)", trusting: $0.simulator.rootPEM) },
                    saying: "the TLS handshake with 127.0.0.1 took too long"
                )
            }
        }
    }

    @Test func `N8: a host name without an address holds its own app, and no other`() async throws {
        try await blocked(
            by: { try await $0.lead(to: "no-such-host.invalid:443", trusting: $0.simulator.rootPEM) },
            saying: "no-such-host.invalid"
        ) { scene in
            try await scene.addApp("other", topic: Scene.topic, to: scene.simulator)
            try await scene.enqueue(100, app: "other")
            try await scene.requests(100, within: Board.sized(.seconds(60), full: .seconds(10)))
        }
    }

    @Test(arguments: FlawedServer.allCases)
    func `N12: a server with a wrong certificate receives nothing`(flaw: FlawedServer) async throws {
        let heard = Atomic<Int>(0)
        try await RawGateway.with(
            certificate: try flaw.certificate(),
            { _ in
                heard.wrappingAdd(1, ordering: .relaxed)
            }
        ) { server, port in
            try await blocked(
                by: { try await $0.lead(to: "127.0.0.1:\(port)", trusting: server.rootPEM) },
                saying: flaw.sentence
            )
        }
        let handshakes = heard.load(ordering: .relaxed)
        #expect(handshakes == 0)
    }

    @Test(arguments: [[], ["http/1.1"]] as [[String]])
    func `N14: a server that does not negotiate HTTP-2 is refused`(protocols: [String]) async throws {
        let heard = Atomic<Int>(0)
        try await RawGateway.with(
            alpn: protocols,
            { line in
                let frames = try await line.listen().count
                heard.wrappingAdd(frames, ordering: .relaxed)
            }
        ) { server, port in
            try await blocked(
                by: { try await $0.lead(to: "127.0.0.1:\(port)", trusting: server.rootPEM) },
                saying: "There is no connection"
            )
        }
        let frames = heard.load(ordering: .relaxed)
        #expect(frames == 0)
    }

    @Test func `N14: a server that supports only TLS 1-1 is refused`() async throws {
        // Its first record: version 1.1, a random number of zeros, and a cipher of that time.
        let hello = [22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2] + [UInt8](repeating: 0, count: 33) + [0xc0, 9, 0]
        try await TestLoop.with { loop in
            try await Reception.with(on: loop) { _, descriptor in
                let socket = Socket(owning: descriptor)
                var room = [UInt8](repeating: 0, count: 4_096)
                for _ in 1...2 {
                    let limit = MonotonicInstant.now + .seconds(60)
                    _ = try await loop.readiness(of: descriptor, for: .read, until: limit, doing: "listening")
                    guard case .bytes = try socket.read(into: &room) else { return }
                    _ = try socket.write(hello.span.bytes)
                }
            } test: { _, port in
                try await blocked(
                    by: { try await $0.lead(to: "127.0.0.1:\(port)", trusting: $0.simulator.rootPEM) },
                    saying: "only TLS versions older than 1.2"
                )
            }
        }
    }

    @Test func `N15: a server that answers in HTTP-1 is named as such, and nothing hangs`() async throws {
        try await RawGateway.with({ line in
            try await line.send(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8))
            try await line.listen()
        }) { server, port in
            try await blocked(
                by: { try await $0.lead(to: "127.0.0.1:\(port)", trusting: server.rootPEM) },
                saying: "does not speak HTTP/2"
            )
        }
    }

    @Test(.scene)
    func `N16: a gateway that sends no SETTINGS after its handshake is abandoned after five seconds`() async throws {
        let judge: Relay.Judge = { frame in
            frame.direction == .down && frame.connection == 1 ? [.freeze] : [.pass]
        }
        try await scene.withRelay(judge) { relay in
            try await scene.enqueue(500)
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await scene.drained()
            #expect(relay.connections > 1)
            #expect(try await worker.unknownOutcomes == 0)
            try await scene.finish()
        }
    }
}
