import Testing

@testable import Simulator

struct FeedbackBookTests {
    private func tuple(_ seconds: UInt32, _ token: [UInt8]) -> [UInt8] {
        [UInt8(seconds >> 24), UInt8(seconds >> 16 & 255), UInt8(seconds >> 8 & 255), UInt8(seconds & 255)]
            + [0, UInt8(token.count)] + token
    }

    @Test func `a token waits once for each topic, with the latest time`() {
        var book = FeedbackBook()
        let (one, two) = (Array("org.example.one".utf8), Array("org.example.two".utf8))
        book.add([1, 2], seconds: 10, topic: one)
        book.add([3], seconds: 11, topic: one)
        book.add([1, 2], seconds: 30, topic: one)
        book.add([1, 2], seconds: 20, topic: one)
        book.add([1, 2], seconds: 40, topic: two)
        #expect(book.waiting == 3)
        let mine = book.take(for: .init(topics: ["org.example.one"]))
        #expect(mine.map(\.tuple) == [tuple(30, [1, 2]), tuple(11, [3])])
        #expect(book.waiting == 1 && book.told == 2)
        // Dead once more, after it was told.
        book.add([1, 2], seconds: 50, topic: one)
        #expect(book.take(for: .init(topics: ["org.example.one"])).map(\.tuple) == [tuple(50, [1, 2])])
    }

    @Test func `what was not told after all waits again, once`() {
        var book = FeedbackBook()
        let topic = Array("org.example.one".utf8)
        book.add([1], seconds: 10, topic: topic)
        book.add([2], seconds: 11, topic: topic)
        let taken = book.take(for: .init(topics: ["org.example.one"]))
        book.add([2], seconds: 12, topic: topic)
        book.putBack(taken[0...])
        #expect(book.take(for: .init(topics: ["org.example.one"])).map(\.tuple) == [tuple(10, [1]), tuple(12, [2])])
        #expect(book.told == 2)
    }
}
