import CarillonIO
import CarillonText
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct AnswerRuleFuzzTests {
    private static let pieces = [
        "ab", "AB", "a", "abc", "*", "=", "410", "429", "200", "599", "600", "99999", "silence", "reset", ":", "::",
        "-", "+",
        "30", "*2", "*0", "*1", "4294967296", "Unregistered", "é", "\u{0}", " ", "x", "1700000000123",
        "9223372036854775808", String(repeating: "a", count: 201),
    ]

    @Test func `any text is read as a rule, or refused with an error`() async {
        var read = 0
        await Fuzzing.seeds(5_000) { seed in
            var random = SeededGenerator(seed: seed)
            var text = Bool.random(using: &random) ? "ab=" : ""
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                text += Self.pieces.randomElement(using: &random) ?? ""
            }
            do throws(SimulatorError) {
                let rule = try AnswerRule(parsing: text)
                read += 1
                #expect(rule.prefix.utf8.count <= 200 && rule.times != 0, "seed \(seed): \(text)")
                #expect(rule.prefix.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }, "seed \(seed): \(text)")
                #expect(rule.oddity?.hasSuffix(".") != false, "seed \(seed): \(text)")
                let answer = GatewayAnswer(rule)
                #expect(answer.detail?.hasSuffix(".") == true, "seed \(seed): \(text)")
                #expect(answer.status.map { (200...599).contains($0) } != false, "seed \(seed): \(text)")
            } catch {
                #expect(error.code == .badRule && error.message.hasSuffix("."), "seed \(seed): \(error.message)")
            }
        }
        #expect(read > 0)
    }

    /// The same by a slower way.
    private struct Model {
        let rules: [AnswerRule]
        var uses: [String: UInt32] = [:]

        mutating func judgement(on token: String) -> Judgement {
            let token = token.lowercased()
            var places: [String: Int] = [:]
            for (index, rule) in rules.enumerated() { places[rule.prefix] = index }
            for length in (0...token.utf8.count).reversed() {
                guard let index = places[String(token.prefix(length))] else { continue }
                guard let times = rules[index].times else { return .ruled(index) }
                let use = "\(index) \(token)"
                guard uses[use, default: 0] < times else { continue }
                uses[use, default: 0] += 1
                return .ruled(index)
            }
            return .accepted
        }
    }

    @Test func `of any rules the longest prefix applies, as often as its limit allows`() async throws {
        try await Fuzzing.seeds(500) { seed in
            var random = SeededGenerator(seed: seed)
            func digits(_ max: Int) -> String {
                let count = Int.random(in: 0...max, using: &random)
                return String((0..<count).map { _ in "abAB".randomElement(using: &random) ?? "a" })
            }
            let rules = try (0..<Int.random(in: 1...8, using: &random)).map { _ in
                let times = UInt32.random(in: 0...3, using: &random)
                return try AnswerRule(prefix: digits(4), status: 429, times: times == 0 ? nil : times)
            }
            var tree = AnswerRules(rules)
            var model = Model(rules: rules)
            for _ in 0..<100 {
                let token = digits(5)
                let bytes = Array(token.utf8)
                let (found, expected) = (tree.judgement(on: bytes.span), model.judgement(on: token))
                #expect(found == expected, "seed \(seed): \(token)")
            }
        }
    }
}
