import ApplePush
import CarillonIO
import TestSupport
import Testing

@Suite struct DeviceTokenTests {
    /// What the form is, character by character.
    private static func form(of token: [UInt8]) -> DeviceToken.Form {
        let digits = token.map { DeviceToken.digit($0) }
        guard DeviceToken.counts.contains(token.count), token.count % 2 == 0, !digits.contains(nil) else {
            return .malformed
        }
        return zip(digits, token).allSatisfy { $0 == $1 } ? .lowerCase : .mixedCase
    }

    private static func isRight(_ token: [UInt8]) -> Bool { DeviceToken.Form(token.span.bytes) == form(of: token) }

    @Test func `every character counts at every place`() {
        for count in [2, 6, 8, 10, 14, 16, 64, 66] {
            for place in 0..<count {
                var token = [UInt8](repeating: UInt8(ascii: "7"), count: count)
                for byte in UInt8.min...UInt8.max {
                    token[place] = byte
                    if !Self.isRight(token) { Issue.record("byte \(byte) at place \(place) of \(count)") }
                }
            }
        }
    }

    @Test func `a token has an even number of digits, and 512 at most`() {
        for count in 0...600 {
            let token = [UInt8](repeating: UInt8(ascii: "a"), count: count)
            let isToken = count > 0 && count <= 512 && count % 2 == 0
            #expect(DeviceToken.Form(token.span.bytes) == (isToken ? .lowerCase : .malformed), "\(count) digits")
        }
    }

    @Test func `the form of any bytes is that of their characters`() async {
        let near = Array("/0129:;@AFGZ[`afgz{".utf8) + [0x00, 0x10, 0x19, 0x7f, 0x80, 0xb0, 0xc1, 0xe1, 0xff]
        await Fuzzing.seeds(2_000) { seed in
            var random = SeededGenerator(seed: seed)
            let alphabet = [Array("0123456789abcdef".utf8), Array("0123456789abcdefABCDEF".utf8), near][Int(seed % 3)]
            let count = Int.random(in: 0...(seed % 8 == 0 ? 520 : 72), using: &random)
            let token = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            #expect(Self.isRight(token), "seed \(seed): \(token)")
        }
    }
}
