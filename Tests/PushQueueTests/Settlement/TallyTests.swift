import TestSupport
import Testing

@testable import CarillonPushQueue

@Suite struct TallyTests {
    @Test func `a sum has every count of both`() {
        let one = Settlement.Tally(
            sent: 1,
            failed: 1,
            expired: 1,
            superseded: 1,
            retried: 1,
            returned: 1,
            unknown: 1,
            badTokens: 1,
            badTopics: 1
        )
        #expect(equalProperties(one, Settlement.Tally()).isEmpty, "a count that this test does not set")
        var sum = one
        sum += one
        #expect(equalProperties(sum, one).isEmpty)
    }
}
