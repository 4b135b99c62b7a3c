import ApplePushSimulator
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePush

/// Lists of the simulator's legacy feedback service.
@Suite struct LegacyFeedbackListTests {
    private func with(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ test: (APNsSimulator, Gateway, Credential) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.feedbackPort = 0
            try change(&$0)
        } _: { simulator in
            let port = try #require(simulator.feedbackPort)
            try await test(simulator, simulator.gateway(port: port), simulator.credential())
        }
    }

    private func apns(_ gateway: Gateway, _ credential: Credential) -> APNs {
        APNs(Session().newConnection(to: gateway, credential: credential))
    }

    private func tokens(of list: LegacyFeedbackList) async -> [String] {
        var tokens: [String] = []
        for await entry in list { tokens.append(entry.token) }
        return tokens
    }

    @Test func `a list is read once, and has the times in milliseconds`() async throws {
        try await with({
            $0.deadTokens = [
                try DeadToken("AA01", seconds: 1_300_000_000), try DeadToken("bb", topic: "org.example.app"),
                try DeadToken("cc", topic: "org.example.another"),
            ]
        }) { simulator, gateway, credential in
            let apns = self.apns(gateway, credential)
            var entries: [Feedback] = []
            let list = try await apns.feedback()
            for await entry in list { entries.append(entry) }
            #expect(entries.map(\.token) == ["aa01", "bb"])
            #expect(entries.first?.timestamp == 1_300_000_000_000)
            #expect(await list.failure == nil)
            #expect(await tokens(of: try await apns.feedback()).isEmpty)
            let statistics = await simulator.statistics()
            #expect(statistics.deadTokensTold == 2 && statistics.deadTokensWaiting == 1)
        }
    }

    @Test func `tokens that were answered with 410 are in the list`() async throws {
        try await with({
            $0.answers = [try AnswerRule(prefix: "dead", status: 410, timestamp: .milliseconds(1_700_000_000_999))]
        }) { simulator, gateway, credential in
            let front = Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM))
            let session = Session()
            let token = "dead" + String(repeating: "0", count: 60)
            let message = try Message(tokens: [token], alert: "Hi", topic: "org.example.app")
            _ = try await APNs(session.connection(to: front, credential: credential)).send(message)
            var entries: [Feedback] = []
            for await entry in try await apns(gateway, credential).feedback() { entries.append(entry) }
            #expect(entries == [Feedback(token: token, timestamp: 1_700_000_000_000)])
            await session.shutdown()
        }
    }

    @Test func `a gateway of HTTP/2 has no list, which is an error`() async throws {
        try await with { simulator, gateway, credential in
            let front = Gateway(host: "localhost", port: simulator.port, trust: gateway.trust)
            let error = await #expect(throws: PushError.self) { try await apns(front, credential).feedback() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("in the feedback of each result. Gateways with a list are") == true)
        }
    }

    @Test func `a list that breaks off keeps the entries that arrived, and the next list has the rest`() async throws {
        // Each tuple has 38 bytes: this is in the middle of the 501st.
        try await with({ $0.feedbackCutAfter = 500 * 38 + 17 }) { simulator, gateway, credential in
            let tokens = (0..<1000).map { String($0 + 0x1000, radix: 16) + String(repeating: "0", count: 60) }
            for token in tokens { simulator.reportDead(try DeadToken(token)) }
            let apns = self.apns(gateway, credential)
            let first = try await apns.feedback()
            #expect(await self.tokens(of: first) == Array(tokens.prefix(500)))
            let failure = await first.failure
            #expect(failure?.message.contains("in the middle of a token") == true)
            let second = try await apns.feedback()
            #expect(await self.tokens(of: second) == Array(tokens.suffix(500)))
            #expect(await second.failure == nil)
        }
    }

    @Test func `a list of many tokens is complete`() async throws {
        try await with { simulator, gateway, credential in
            for number in 0..<20_000 { simulator.reportDead(try DeadToken(String(number + 0x10_0000, radix: 16))) }
            let list = try await apns(gateway, credential).feedback()
            #expect(await tokens(of: list).count == 20_000)
            #expect(await list.failure == nil)
        }
    }

    @Test(arguments: [32, 0]) func `an endless list is cut off by the reader, which keeps what came before`(
        tokenBytes: Int
    ) async throws {
        let tuple = LegacyFeedbackTuplesTests.tuple(1_300_000_000, Array(repeating: 0xab, count: tokenBytes))
        let piece = [[UInt8]](repeating: tuple, count: 1000).flatMap { $0 }
        try await RawGateway.with(alpn: []) { line in
            // Ends when the reader closes.
            while true { try await line.send(piece) }
        } test: { server, port in
            try await TestLoop.with { loop in
                let source = try await LegacyFeedbackConnection.open(
                    to: Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM)),
                    with: try TestCredential.certificate(),
                    BinaryConfiguration().pool,
                    longestSilence: .seconds(30),
                    maxBytes: 200_000,
                    on: loop,
                    of: loop
                )
                let list = LegacyFeedbackList(source)
                let count = await tokens(of: list).count
                // Up to one read more than the limit.
                let most = (200_000 + 16_384) / tuple.count
                #expect(tokenBytes == 0 ? count == 0 : (200_000 / tuple.count...most).contains(count), "\(count)")
                #expect(await list.failure?.message.contains("did not end after") == true)
                #expect(await source.nextPiece() == nil)
            }
        }
    }

    @Test(arguments: [true, false]) func `a list that ends late or not at all, or has what is no token, says so`(
        isEndless: Bool
    ) async throws {
        let good = LegacyFeedbackTuplesTests.tuple(1_300_000_000, Array(repeating: 0xab, count: 32))
        let bad = LegacyFeedbackTuplesTests.tuple(1_300_000_000, Array(repeating: 0xab, count: 4000))
        try await RawGateway.with(alpn: []) { line in
            repeat { try await line.send(good + bad) } while isEndless
            line.closeNotify()
        } test: { server, port in
            try await TestLoop.with { loop in
                let source = try await LegacyFeedbackConnection.open(
                    to: Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM)),
                    with: try TestCredential.certificate(),
                    BinaryConfiguration().pool,
                    longestSilence: .seconds(30),
                    longestTime: isEndless ? .seconds(2) : .seconds(600),
                    maxBytes: .max,
                    on: loop,
                    of: loop
                )
                let list = LegacyFeedbackList(source)
                let found = await tokens(of: list)
                #expect(Set(found) == [String(repeating: "ab", count: 32)])
                let message = await list.failure?.message ?? ""
                #expect(message.contains("of its tokens have more than 256 bytes, and were left out."), "\(message)")
                #expect(message.contains("did not end within its time") == isEndless, "\(message)")
                #expect(isEndless || found.count == 1)
            }
        }
    }

    /// No such list is read here, because it takes long to parse without optimization. That the limit counts is tested above.
    @Test func `at most 64 MiB of a list are read, as the documents say`() throws {
        #expect(LegacyFeedbackConnection.maxBytes == 64 * 1024 * 1024)
        for page in ["docs/guarantees.md", "docs/security-model.md"] {
            #expect(try GeneratedPage(page).text.contains("At most 64 MiB of a"), "\(page)")
        }
        // The only caller names no limit of its own.
        let caller = try GeneratedPage("Sources/ApplePush/Pool/ConnectionPools.swift").text
        #expect(caller.contains("LegacyFeedbackConnection.open(") && !caller.contains("maxBytes"))
    }

    @Test
    func `an unreachable or untrusted gateway, or one that needs a certificate, is an error`() async throws {
        try await with { simulator, gateway, credential in
            let nowhere = Gateway(host: "localhost", port: 1, trust: gateway.trust)
            let stranger = Gateway(host: "localhost", port: gateway.port)
            for (gateway, code) in [(nowhere, PushError.Code.unreachable), (stranger, .untrusted)] {
                let error = await #expect(throws: PushError.self) {
                    try await apns(gateway, credential).feedback()
                }
                #expect(error?.code == code)
            }
            let key = try TestCredential.providerToken()
            let error = await #expect(throws: PushError.self) { try await apns(gateway, key).feedback() }
            #expect(error?.code == .unsupported)
        }
    }
}
