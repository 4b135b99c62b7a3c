import Testing

@testable import Carillon

@Suite struct SuggestionTests {
    @Test(arguments: [
        ("max-inflight", "max-in-flight"), ("leese", "lease"), ("retry-bsae", "retry-base"), ("databse", "database"),
        ("connection", "connections"),
    ])
    func `a slip of the fingers finds what was meant`(word: String, meant: String) {
        #expect(Suggestion.nearest(to: word, among: Option.all.map(\.flag)) == meant)
    }

    @Test func `a word that resembles no option gets no suggestion`() {
        #expect(Suggestion.nearest(to: "zyzzyva", among: Option.all.map(\.flag)) == nil)
    }
}
