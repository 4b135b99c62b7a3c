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

    @Test(
        arguments: [
            (1, "InternalServerError", true), (2, "MissingDeviceToken", false), (3, "MissingTopic", false),
            (4, "PayloadEmpty", false), (5, "BadDeviceToken", false), (6, "BadTopic", false),
            (7, "PayloadTooLarge", false), (8, "BadDeviceToken", false),
        ] as [(UInt8, String, Bool)]
    )
    func `a status has the reason of the same meaning`(status: UInt8, reason: String, isRetryable: Bool) {
        let outcome = BinaryAnswer(status: status, identifier: 1).outcome
        #expect(outcome.verdict == .rejected)
        #expect(outcome.status == UInt16(status))
        #expect(outcome.reason.name == reason)
        #expect(outcome.isRetryable == isRetryable)
    }

    @Test(arguments: [0, 9, 11, 127, 128, 255] as [UInt8])
    func `any other status leaves the outcome unknown`(status: UInt8) {
        #expect(BinaryAnswer(status: status, identifier: 1).outcome == Outcome(.unknown, status: UInt16(status)))
    }
}
