import Testing

@testable import Carillon

@Suite struct TokenTextTests {
    private static func read(_ text: String) -> (String?, reason: String?) {
        var digits: [UInt8] = [1]
        let reason = TokenText.read(Array(text.utf8)[...], into: &digits)
        return (reason == nil ? String(decoding: digits, as: UTF8.self) : nil, reason)
    }

    @Test(arguments: [
        ("00fF", "00ff"), (" ab\t", "ab"), ("<740f4707 BEBCF74f>", "740f4707bebcf74f"), ("\\x0A0b", "0a0b"),
        (String(repeating: "a", count: 512), String(repeating: "a", count: 512)),
    ])
    func `a token is hex digits, as programs write them`(text: String, token: String) {
        #expect(Self.read(text) == (token, nil))
    }

    @Test(arguments: [
        ("", "there is no token"), ("<>", "there is no token"), ("abc", "odd"), ("0x0a", "not hex digits"),
        ("ab cd", "not hex digits"), ("ab-cd", "not hex digits"), ("é0", "not hex digits"), ("ab\0", "not hex digits"),
        (String(repeating: "a", count: 514), "more than 512"), ("<ab", "not hex digits"),
    ])
    func `anything else is refused, with the reason`(text: String, reason: String) {
        let (token, found) = Self.read(text)
        #expect(token == nil && found?.contains(reason) == true, "\(found ?? "")")
    }
}
