import Testing

@testable import ApplePush

@Suite struct BinaryAnswerTests {
    @Test func `six bytes name a status and an identifier`() throws {
        let answer = try #require(BinaryAnswer([8, 10, 0x01, 0x02, 0x03, 0x04]))
        #expect(answer == BinaryAnswer(status: 10, identifier: 0x0102_0304))
        #expect(answer.isShutdown)
        #expect(BinaryAnswer([8, 8, 0, 0, 0]) == nil)
        #expect(BinaryAnswer([7, 8, 0, 0, 0, 1]) == nil)
        #expect(BinaryAnswer([8, 8, 0, 0, 0, 1, 0]) == nil)
    }
}
