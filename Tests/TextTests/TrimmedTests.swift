import CarillonText
import TestSupport
import Testing

@Suite struct TrimmedTests {
    @Test(arguments: [
        ("", ""), (" \t\r\n ", ""), ("a", "a"), ("\r\n a b\t\u{b}", "a b"), ("\u{a0}ü\u{301} ", "\u{a0}ü\u{301}"),
    ])
    func `white space around a text goes, and none within it`(text: String, trimmed: String) {
        #expect(text.trimmed == trimmed)
    }

    /// A step back over a flag counts all flags before it, so a trim by characters is quadratic in them.
    @Test(arguments: Growth.hostileTexts + ["\u{301}"])
    func `a text of a megabyte is trimmed in one pass, whatever it repeats`(text: String) {
        func trim(_ bytes: Int) {
            let long = String(repeating: text, count: bytes / text.utf8.count)
            _ = (" " + long + "a" + long + " ").trimmed
        }
        let bytes = 1_000_000
        let seconds = Growth.seconds { trim(bytes) }
        #expect(Growth.isLinear(seconds, bytes: bytes, trim), "\(seconds) s")
    }
}
