import Testing

@testable import ApplePushSimulator

@Suite struct DeadTokenListTests {
    private func tuple(_ seconds: UInt32, _ token: [UInt8]) -> [UInt8] {
        [UInt8(seconds >> 24), UInt8(seconds >> 16 & 255), UInt8(seconds >> 8 & 255), UInt8(seconds & 255)]
            + [0, UInt8(token.count)] + token
    }

    @Test func `a device token waits once for each topic, with the latest time`() {
        var list = DeadTokenList()
        let (one, two) = (Array("org.example.one".utf8), Array("org.example.two".utf8))
        list.add(.init(token: [1, 2], topic: one, seconds: 10))
        list.add(.init(token: [3], topic: one, seconds: 11))
        list.add(.init(token: [1, 2], topic: one, seconds: 30))
        list.add(.init(token: [1, 2], topic: one, seconds: 20))
        list.add(.init(token: [1, 2], topic: two, seconds: 40))
        #expect(list.waiting == 3)
        let mine = list.take(for: .init(topics: ["org.example.one"]))
        #expect(mine.map(\.tuple) == [tuple(30, [1, 2]), tuple(11, [3])])
        #expect(list.waiting == 1 && list.sent == 2)
        // Dead once more, after it was sent.
        list.add(.init(token: [1, 2], topic: one, seconds: 50))
        #expect(list.take(for: .init(topics: ["org.example.one"])).map(\.tuple) == [tuple(50, [1, 2])])
    }

    @Test func `entries that were not sent wait again, once`() {
        var list = DeadTokenList()
        let topic = Array("org.example.one".utf8)
        list.add(.init(token: [1], topic: topic, seconds: 10))
        list.add(.init(token: [2], topic: topic, seconds: 11))
        let taken = list.take(for: .init(topics: ["org.example.one"]))
        list.add(.init(token: [2], topic: topic, seconds: 12))
        list.putBack(taken[0...])
        #expect(list.take(for: .init(topics: ["org.example.one"])).map(\.tuple) == [tuple(10, [1]), tuple(12, [2])])
        #expect(list.sent == 2)
    }
}
