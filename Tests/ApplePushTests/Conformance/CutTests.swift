import ApplePush
import CarillonIO
import TestSupport
import Testing

/// The connection is cut after every byte of a batch: what was delivered, what failed and what is to be retried are together
/// all tokens, and no gateway gets a push twice.
@Suite(.timeLimit(.minutes(5))) struct CutTests {
    private static let count = 3

    /// Pushes to short tokens, whose cuts are fewer.
    private static var message: Message {
        get throws { try Message(tokens: ["a0", "a1", "a2"], alert: "", topic: "t") }
    }

    /// Sends to the gateway, which cuts the first connection, and checks that each token is accounted for.
    private static func check(
        _ cut: Int,
        _ backend: any Backend,
        to gateway: Gateway,
        with credential: Credential
    ) async throws {
        let apns = try APNs(backend, to: gateway, with: credential)
        do {
            let result = try await apns.send(try message)
            let delivered = result.pushes.filter(\.isAccepted).map(\.token)
            let all = delivered + result.failed.keys + (result.retry()?.tokens ?? [])
            #expect(all.sorted() == (try message.tokens), "cut after \(cut): \(result)")
        } catch let error as PushError {
            // Nothing was sent, so the whole message is to be retried.
            #expect(error.code == .unreachable, "cut after \(cut)")
        }
        await backend.shutdown()
    }

    /// Each lane has a gateway of its own, so that the cuts do not wait for each other.
    private static let lanes = 0..<8

    @Test(arguments: BinaryFormat.allCases, lanes)
    func `a cut binary connection loses and repeats no push`(format: BinaryFormat, lane: Int) async throws {
        var configuration = BinaryConfiguration()
        configuration.format = format
        configuration.quietPeriod = .milliseconds(20)
        let next = Guarded<Int?>(nil)
        let arrived = Guarded<[BinaryNotification]>([])
        let credential = try TestCredential.certificate()
        try await RawGateway.with(alpn: []) { line in
            let cut = next.withLock { $0.take() }
            if let cut {
                _ = try await line.next(cut)
            } else {
                while let push = try await line.nextNotification() { arrived.withLock { $0.append(push) } }
            }
        } test: { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            for cut in stride(from: lane, through: Self.length(of: format), by: Self.lanes.count) {
                next.withLock { $0 = cut }
                arrived.withLock { $0 = [] }
                try await Self.check(cut, BinaryBackend(configuration), to: gateway, with: credential)
                let tokens = arrived.withLock { $0.map(\.token) }
                #expect(Set(tokens).count == tokens.count, "cut after \(cut)")
            }
        }
    }

    /// How many bytes the message has: a byte of token and a payload of 20 bytes in each push.
    private static func length(of format: BinaryFormat) -> Int {
        let frame =
            switch format {
            case .simple: 1 + 2 + 1 + 2 + 20
            case .enhanced: 1 + 4 + 4 + 2 + 1 + 2 + 20
            case .frames: 1 + 4 + 3 + 1 + 3 + 20 + 3 + 4 + 3 + 4 + 3 + 1
            }
        return frame * count
    }

    @Test(arguments: lanes)
    func `a cut HTTP/2 connection loses and repeats no push`(lane: Int) async throws {
        let next = Guarded<Int?>(nil)
        let length = Guarded(0)
        let served = Guarded(0)
        let credential = try TestCredential.certificate()
        try await RawGateway.with { line in
            let cut = next.withLock { $0.take() }
            try await line.greet()
            if let cut {
                _ = try await line.next(cut)
                return
            }
            var bytes = 0
            while let frame = try await line.nextFrame() {
                bytes += 9 + frame.payload.count
                guard frame.endsStream else { continue }
                served.withLock { $0 += 1 }
                length.withLock { $0 = max($0, bytes) }
                try await line.accept(frame.stream)
            }
        } test: { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            try await Self.check(-1, HTTP2Backend(), to: gateway, with: credential)
            let end = length.withLock { $0 }
            #expect(end > 100 && served.withLock { $0 } == Self.count)
            for cut in stride(from: lane, through: end, by: Self.lanes.count) {
                next.withLock { $0 = cut }
                served.withLock { $0 = 0 }
                try await Self.check(cut, HTTP2Backend(), to: gateway, with: credential)
                #expect(served.withLock { $0 } <= Self.count, "cut after \(cut)")
            }
        }
    }
}
