import CarillonText
import Testing

@Suite struct ComparingTests {
    @Test(arguments: [
        ("é", 200, true), ("e\u{301}", 200, true), ("\u{301}", 128, true), ("\u{301}", 129, false), ("🇩🇪👨‍👩‍👧", 200, true),
    ])
    func `a text is costly to compare if over 128 accents follow each other`(text: String, count: Int, isCheap: Bool) {
        #expect(("a" + String(repeating: text, count: count) + "b").isCheapToCompare == isCheap)
    }
}
