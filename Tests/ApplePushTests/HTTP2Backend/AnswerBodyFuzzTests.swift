import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct AnswerBodyFuzzTests {
    private static let pieces = [
        "{", "}", "\"", ":", ",", "\\", "[", "]", " ", "\"reason\"", "\"timestamp\"", ":\"Unregistered\"",
        ":1729000000000",
        ":-1", ":1e30", ":null", "\\u0000", "\u{0}", "\u{7f}", "ü", "\u{1b}[2J", "{\"reason\":\"BadDeviceToken\"}",
        String(repeating: "x", count: 300), "99999999999999999999",
    ]

    @Test func `the reason in a body is short printable text, whatever the body contains`() async {
        await Fuzzing.seeds(3_000) { seed in
            var random = SeededGenerator(seed: seed)
            var bytes = Array("{\"reason\":\"".utf8.prefix(seed & 1 == 0 ? 0 : 11))
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                bytes += Array((Self.pieces.randomElement(using: &random) ?? "").utf8)
                if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
            }
            let body = bytes
            var outcomes = Outcomes(repeating: .pending, count: 0)
            let outcome = OutcomeRules.outcome(status: 410, retryAfter: nil, body: body.span.bytes, keeping: &outcomes)
            let text = outcomes.text(of: outcome.reason)
            #expect(text.unicodeScalars.count <= 100, "seed \(seed)")
            #expect(!text.utf8.contains { $0 < 0x20 || $0 == 0x7f }, "seed \(seed)")
            #expect((outcome.timestamp ?? 0) >= 0, "seed \(seed)")
        }
    }
}
