import Testing

@testable import CarillonTLS

@Suite struct DerivedPasswordTests {
    @Test func `only the same password matches`() {
        let derived = DerivedPassword("correct horse ü")
        #expect(derived.matches("correct horse ü"))
        for other in ["", "correct horse", "correct horse ü ", "Correct horse ü", String(repeating: "x", count: 4_000)]
        {
            #expect(!derived.matches(other))
        }
        #expect(!DerivedPassword("").matches("x") && DerivedPassword("").matches(""))
    }
}
