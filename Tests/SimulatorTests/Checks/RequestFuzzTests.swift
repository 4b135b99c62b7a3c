import CarillonIO
import CarillonPushRules
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Random requests, from their fields to their lines in the log.
@Suite struct RequestFuzzTests {
    private static let names = [
        "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id",
        "authorization", "content-type", "apns", "",
    ]
    private static let values =
        [
            "", "10", "5", "1", "00", "-1", "9999999999999999999", "com.example.app", ".voip", "com.example.app.voip",
            "com.example.app.push-type.liveactivity", "com.example.app.location-query", "bearer a.b.c",
            "123e4567-e89b-12d3-a456-426614174000", "\u{0}\u{1F}\u{7F}\"\\", "é\u{2028}😀", "com.example.",
            String(repeating: "a", count: 300),
        ] + PushTypeRules.all.map(\.name.description)
    private static let paths = [
        "/3/device/", "/3/device", "/3/device//", "/4/broadcasts/apps/x", "*", "", "/3/device/\u{0}",
    ]
    private static let payloads = [
        "", "{}", #"{"aps":{"alert":"Hello","badge":[1,-2.5e3,null,true]},"é":"\u00e9\n"}"#, "[{}]", "\u{FEFF}{}",
        #"{"a":NaN}"#, #"{"a":1,}"#, "{}\u{0}", "  ", String(repeating: "[", count: 5_000),
    ]

    private func request(_ random: inout SeededGenerator) -> SampleRequest {
        let isPlain = Int.random(in: 0..<3, using: &random) > 0
        let token = (0..<Int.random(in: 31...34, using: &random)).map { _ in
            ["ab", "CD", "09", "1f"].randomElement(using: &random) ?? ""
        }
        var request = SampleRequest(
            method: isPlain ? "POST" : ["GET", "post", "", "HEAD"].randomElement(using: &random) ?? "",
            path: isPlain ? "/3/device/" + token.joined() : Self.paths.randomElement(using: &random) ?? "",
            topic: isPlain ? Self.values[Int.random(in: 7...11, using: &random)] : nil
        )
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let name = Self.names.randomElement(using: &random) ?? ""
            request.fields.append((name, Self.values.randomElement(using: &random) ?? ""))
        }
        request.payload = Array((Self.payloads.randomElement(using: &random) ?? "").utf8)
        for _ in 0..<Int.random(in: 0...2, using: &random) where !request.payload.isEmpty {
            let place = Int.random(in: 0..<request.payload.count, using: &random)
            request.payload[place] = .random(in: 0...255, using: &random)
        }
        return request
    }

    @Test func `any request has one verdict, one detail and one line of JSON`() async throws {
        let rules = try ["ab=410", "cd=429*1", "*=503*1"].map { try AnswerRule(parsing: $0) }
        var ruled = SimulatorConfiguration()
        ruled.answers = rules
        let server = try ServerState(ruled, deadTokens: nil, channels: ChannelTable())
        let credentials: [ClientCredential] = [
            .providerToken, .certificate(.init(topics: [])), .certificate(.init(topics: ["com.example.app"])),
            .certificate(.init(topics: ["com.example.app", "com.example.app.voip", "com.example.app.location-query"])),
        ]
        var seen: Set<String> = []
        var writer = LogLine()
        await Fuzzing.seeds(2_000) { seed in
            var random = SeededGenerator(seed: seed)
            var configuration = SimulatorConfiguration()
            configuration.answers = Bool.random(using: &random) ? rules : []
            // The memory for the owners of device tokens takes long to allocate.
            configuration.bindsTokens = Int.random(in: 0..<32, using: &random) == 0
            configuration.topics = Bool.random(using: &random) ? ["com.example.app"] : []
            var judge = Judge(configuration, channels: ChannelTable())
            var check = RequestCheck(topics: configuration.topics)
            let credential = credentials.randomElement(using: &random) ?? .providerToken
            var connection = AuthenticationState(credential: credential, service: .pushes)
            for _ in 0..<3 {
                let request = request(&random)
                let (head, original) = request.flat
                var bytes = original
                // Values may be any bytes, too.
                if !bytes.isEmpty, Bool.random(using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                let payload = request.payload
                let judgement: Judgement
                if case .providerToken = credential {
                    // As if its provider token were good.
                    let refusal =
                        check.refusalOfRoute(head, in: bytes.span)
                        ?? check.refusalOfContent(
                            head,
                            in: bytes.span,
                            payload: payload.span,
                            credential: credential,
                            bound: BoundTopics(known: check.topics.count)
                        )
                    judgement = refusal.map { .refused($0) } ?? .accepted
                } else {
                    judgement = judge.judgement(
                        on: head,
                        in: bytes.span,
                        payload: payload.span,
                        from: &connection,
                        now: 0
                    )
                }
                let answer = server.answer(to: judgement)
                let detail = judgement.cause(of: head, in: bytes.span, payload.span, credential) ?? answer.detail
                if case .accepted = judgement {
                    #expect(detail == nil, "seed \(seed)")
                } else {
                    #expect(detail?.last == ".", "seed \(seed): \(detail ?? "no detail")")
                }
                seen.insert(answer.reason ?? "\(answer.status ?? 0)")
                var line: [UInt8] = []
                var facts = LogLine.Facts(now: 0, connection: 1, stream: 1, status: answer.status)
                (facts.reason, facts.detail, facts.onlyTopic) = (answer.reason, detail, credential.onlyTopic)
                let id: [UInt8] = []
                writer.append(facts, head: head, in: bytes.span, id: id.span, payload: payload.span, to: &line)
                #expect(line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1, "seed \(seed)")
                let isObject = isJSONObject(line)
                #expect(isObject, "seed \(seed): \(String(decoding: line, as: UTF8.self))")
            }
        }
        #expect(seen.count > 10)
    }

    private struct Line: Decodable {
        let time: String
        let stream: Int
        let payload: String
    }

    private func isJSONObject(_ line: [UInt8]) -> Bool {
        var check = JSONObjectCheck()
        let isRead = (try? JSONDecoder().decode(Line.self, from: Data(line))) != nil
        return isRead && check.faultOffset(in: line.span) == nil
    }
}
