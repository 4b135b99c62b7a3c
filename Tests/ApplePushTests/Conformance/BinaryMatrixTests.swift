import ApplePush
import CarillonIO
import TestSupport
import Testing

/// What the result says of each code of the binary protocol, as the table of apns-client has it, and where it differs.
@Suite(.timeLimit(.minutes(5))) struct BinaryMatrixTests {
    /// Where the refused token appears.
    enum Place: Sendable {
        /// In `failed`: not worth a retry.
        case failed
        /// In `errors`: not worth a retry.
        case error
        /// In `errors` and in the retry.
        case retried
        /// In neither: it was accepted.
        case accepted
    }

    private static let tokens = (0..<9).map { batch(9, digits: 64).token(of: $0) }
    private static let positions = [0, 4, 8]

    /// Sends nine pushes. The gateway reads all of them on the first connection, and then ends it.
    private static func send(
        ending: @escaping @Sendable ([BinaryNotification]) -> [UInt8]
    ) async throws -> (result: APNs.Result, accepted: [Int]) {
        let script = GatewayScript()
        let backend = BinaryBackend(.provenByErrors)
        return try await RawGateway.with(alpn: []) { line in
            guard line.number == 1 else { return try await script.serveBinary(&line) }
            var all: [BinaryNotification] = []
            for _ in tokens {
                guard let next = try await line.nextNotification() else { return }
                all.append(next)
            }
            try await line.send(ending(all))
            while ending(all).count == 6, try await line.next(1) != nil {}
        } test: { server, port in
            try await attempt {
                let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
                let apns = try APNs(backend, to: gateway)
                let message = try Message(tokens: tokens, alert: "Hello", topic: "org.example.app")
                return (try await apns.send(message), script.accepted)
            } finally: {
                await backend.shutdown()
            }
        }
    }

    private static func check(_ code: UInt8, _ place: Place, reason: String?) async throws {
        for position in positions {
            let (result, accepted) = try await send { $0[position].refusal(code) }
            let comment = Comment(rawValue: "code \(code) at \(position): \(result)")
            let token = tokens[position]
            // What followed is sent again by the library, not by its user.
            #expect(accepted == Array(position + 1..<tokens.count), comment)
            #expect(result.accepted == (place == .accepted ? 9 : 8), comment)
            #expect(result.failed.keys.map(\.self) == (place == .failed ? [token] : []), comment)
            #expect(result.failed[token]?.reason == (place == .failed ? reason : nil), comment)
            #expect(result.errors.map(\.reason) == (place == .error || place == .retried ? [reason] : []), comment)
            #expect(result.needsRetry == (place == .retried), comment)
            #expect(result.retry()?.tokens == (place == .retried ? [token] : nil), comment)
        }
    }

    @Test(arguments: [(2, "MissingDeviceToken"), (5, "BadDeviceToken"), (8, "BadDeviceToken")] as [(UInt8, String)])
    func `a missing or bad token has failed, and is not retried`(code: UInt8, reason: String) async throws {
        try await Self.check(code, .failed, reason: reason)
    }

    @Test func `a processing error is an error, and its token is retried`() async throws {
        try await Self.check(1, .retried, reason: "InternalServerError")
    }

    /// The ancestor gives up the whole message at the first of them.
    @Test(
        arguments: [(3, "MissingTopic"), (4, "PayloadEmpty"), (6, "BadTopic"), (7, "PayloadTooLarge")]
            as [(UInt8, String)]
    )
    func `a fault of the message is an error that is not retried, and unlike the ancestor's loses no other token`(
        code: UInt8,
        reason: String
    ) async throws {
        try await Self.check(code, .error, reason: reason)
    }

    @Test
    func `a shutdown names the last that was accepted, so nothing failed and nothing is left to retry`() async throws {
        try await Self.check(10, .accepted, reason: nil)
    }

    @Test(arguments: [0, 9, 77, 128, 255] as [UInt8])
    func `any other code is an unknown error, and its token is retried`(code: UInt8) async throws {
        try await Self.check(code, .retried, reason: "OutcomeUnknown")
    }

    /// The ancestor retries from the second token on.
    @Test func `after an I/O error every token is retried, where the ancestor loses one`() async throws {
        let (result, accepted) = try await Self.send { _ in [] }
        #expect(result.retry()?.tokens == Self.tokens)
        #expect(result.errors.map(\.reason) == ["OutcomeUnknown"])
        #expect(result.failed.isEmpty && result.accepted == 0 && accepted.isEmpty)
    }
}
