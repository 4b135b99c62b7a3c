import Testing

@testable import ApplePushSimulator

@Suite struct AnswerRulesTests {
    private func rules(_ texts: String...) throws -> AnswerRules {
        AnswerRules(try texts.map { try AnswerRule(parsing: $0) })
    }

    private func take(_ token: String, from rules: inout AnswerRules) -> Int? {
        let bytes = Array(token.utf8)
        if case .ruled(let rule) = rules.judgement(on: bytes.span) { return rule }
        return nil
    }

    @Test(
        arguments: [
            ("dead=410", .answer(status: 410, reason: "Unregistered", timestamp: .now), nil, nil),
            ("dead=410:ExpiredToken", .answer(status: 410, reason: "ExpiredToken", timestamp: .now), nil, nil),
            (
                "dead=410::1700000000123",
                .answer(status: 410, reason: "Unregistered", timestamp: .milliseconds(1_700_000_000_123)), nil, nil
            ),
            ("dead=410:Unregistered:-", .answer(status: 410, reason: "Unregistered", timestamp: .none), nil, nil),
            ("DE=429*2", .answer(status: 429, reason: "TooManyRequests", timestamp: .none), nil, 2),
            ("DE=429+30*2", .answer(status: 429, reason: "TooManyRequests", timestamp: .none), 30, 2),
            ("*=503:Shutdown", .answer(status: 503, reason: "Shutdown", timestamp: .none), nil, nil),
            ("*=418", .answer(status: 418, reason: nil, timestamp: .none), nil, nil),
            ("ab=200", .answer(status: 200, reason: nil, timestamp: .none), nil, nil),
            ("ab=silence*1", .silence, nil, 1),
            ("ab=reset", .reset, nil, nil),
            ("poll=200:PROCESSING*2", .answer(status: 200, reason: "PROCESSING", timestamp: .none), nil, 2),
        ] as [(String, AnswerRule.Action, UInt32?, UInt32?)]
    )
    func `rules are read`(text: String, action: AnswerRule.Action, retryAfter: UInt32?, times: UInt32?) throws {
        let rule = try AnswerRule(parsing: text)
        #expect(rule.action == action)
        #expect(rule.retryAfter == retryAfter)
        #expect(rule.times == times)
    }

    @Test(arguments: [
        "", "dead", "dead=", "dead=gone", "dead=99", "dead=600", "dead=410:Unregistered:soon", "xyz=410", "ab=429*0",
        "ab=429*", "ab=429+x", "ab=silence:Shutdown", "ab=reset+3", "=200", "ab=410:-", "ab=500:-",
    ])
    func `a text that is not a rule is refused with a sentence`(text: String) {
        let error = #expect(throws: SimulatorError.self) { try AnswerRule(parsing: text) }
        #expect(error?.code == .badRule)
        #expect(error?.message.hasSuffix(".") == true)
    }

    @Test func `a rule that answers otherwise than Apple has an oddity`() throws {
        for text in ["ab=410:Foo", "ab=200:Unregistered", "77=302:Foo", "77=418", "*=429:Unregistered"] {
            #expect(try AnswerRule(parsing: text).oddity?.hasSuffix(".") == true, "\(text)")
        }
        for text in ["ab=410", "ab=200", "ab=429+30*2", "*=503:Shutdown", "ab=400:BadTopic", "ab=silence", "ab=reset"] {
            #expect(try AnswerRule(parsing: text).oddity == nil, "\(text)")
        }
    }

    @Test func `both names of the missing capability, and of a key for the other environment, are Apple's`() throws {
        for text in [
            "create=400:FeatureNotEnabled", "broadcast=400:BroadcastFeatureNotEnabled",
            "*=403:BadEnvironmentKeyIdInToken", "*=403:BadEnvironmentKeyInToken",
        ] {
            #expect(try AnswerRule(parsing: text).oddity == nil, "\(text)")
        }
    }

    @Test func `a rule of limited times counts a device token once, in either case`() throws {
        var rules = try rules("ab=429*2")
        #expect(take("abcd", from: &rules) == 0)
        #expect(take("ABCD", from: &rules) == 0)
        #expect(take("aBcD", from: &rules) == nil)
    }

    @Test func `the log says that an answer comes from a rule`() throws {
        for text in ["f4=403:ExpiredProviderToken", "f4=200", "f4=410", "f4=silence", "f4=reset"] {
            #expect(GatewayAnswer(try AnswerRule(parsing: text)).detail?.contains("--answer") == true, "\(text)")
        }
        #expect(GatewayAnswer(try AnswerRule(parsing: "f4=503")).detail?.contains("f4") == true)
    }

    @Test func `silence and reset take neither a reason nor seconds`() {
        let seconds = #expect(throws: SimulatorError.self) { try AnswerRule(parsing: "aa=reset+5") }
        #expect(seconds?.message.contains("takes no seconds") == true)
        let reason = #expect(throws: SimulatorError.self) { try AnswerRule(parsing: "aa=reset:Foo") }
        #expect(reason?.message.contains("takes no reason") == true)
    }

    @Test func `the longest prefix wins, in either case`() throws {
        var rules = try rules("d=500", "dead=410", "de=429")
        #expect(take("deadbeef", from: &rules) == 1)
        #expect(take("DEADBEEF", from: &rules) == 1)
        #expect(take("deaf", from: &rules) == 2)
        #expect(take("d0", from: &rules) == 0)
        #expect(take("e0", from: &rules) == nil)
    }

    @Test func `of two rules for one prefix the later applies`() throws {
        var rules = try rules("ab=500", "ab=503")
        #expect(take("ab", from: &rules) == 1)
    }

    @Test func `a rule of limited times applies that often to each device token`() throws {
        var rules = try rules("ab=429*2")
        #expect(take("ab01", from: &rules) == 0)
        #expect(take("ab01", from: &rules) == 0)
        #expect(take("ab02", from: &rules) == 0)
        #expect(take("ab01", from: &rules) == nil)
        #expect(take("ab02", from: &rules) == 0)
        #expect(take("ab02", from: &rules) == nil)
    }

    @Test func `rules of limited times count a limited number of device tokens, and stay used up`() throws {
        var rules = AnswerRules(
            [try AnswerRule(parsing: "ab=429*1"), try AnswerRule(parsing: "a=500")],
            countedTokens: 2
        )
        #expect(take("ab01", from: &rules) == 0)
        #expect(take("ab02", from: &rules) == 0)
        #expect(rules.uncounted == 0)
        #expect(take("ab03", from: &rules) == 1)
        #expect(take("ab01", from: &rules) == 1)
        #expect(take("ab02", from: &rules) == 1)
        #expect(rules.uncounted == 1)
    }

    @Test func `when a rule is used up the next shorter prefix applies`() throws {
        var rules = try rules("*=503*1", "a=500*1", "ab=429*1")
        #expect(take("ab", from: &rules) == 2)
        #expect(take("ab", from: &rules) == 1)
        #expect(take("ab", from: &rules) == 0)
        #expect(take("ab", from: &rules) == nil)
    }

    @Test func `bodies carry reason and time as Apple writes them`() throws {
        func body(_ reason: String?, _ timestamp: AnswerRule.Timestamp) throws -> String {
            let action = AnswerRule.Action.answer(status: 410, reason: reason, timestamp: timestamp)
            let answer = GatewayAnswer(try AnswerRule(prefix: "ab", action: action))
            return String(decoding: answer.body(now: 1_700_000_000_000), as: UTF8.self)
        }
        #expect(try body("Unregistered", .now) == #"{"reason":"Unregistered","timestamp":1700000000000}"#)
        #expect(try body("Unregistered", .milliseconds(-1)) == #"{"reason":"Unregistered","timestamp":-1}"#)
        #expect(try body("Unregistered", .none) == #"{"reason":"Unregistered"}"#)
        #expect(try body("a\"b", .none) == #"{"reason":"a\"b"}"#)
        #expect(try body(nil, .now) == "")
    }
}
