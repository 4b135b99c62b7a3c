import CarillonText
import Testing

@Suite struct TrimmedTests {
    @Test(arguments: [
        ("", ""), (" \t\r\n ", ""), ("a", "a"), ("\r\n a b\t\u{b}", "a b"), ("\u{a0}ü\u{301} ", "\u{a0}ü\u{301}"),
    ])
    func `white space around a text goes, and none within it`(text: String, trimmed: String) {
        #expect(text.trimmed == trimmed)
    }

    /// A step back over a flag counts all flags before it, so a trim by characters is quadratic in them.
    @Test(arguments: [" ", "\r\n", "\u{301}", "🇩🇪", "👨‍👩‍👧"])
    func `a text of a megabyte is trimmed in one pass, whatever it repeats`(text: String) {
        let long = String(repeating: text, count: 1_000_000 / text.utf8.count)
        let time = ContinuousClock().measure { _ = (" " + long + "a" + long + " ").trimmed }
        #expect(time < .seconds(2))
    }
}
