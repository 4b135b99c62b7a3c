import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct SilenceLimitTests {
    @Test func `the time is about a lease, from 5 to 15 seconds`() {
        #expect(SilenceState.limit(lease: .seconds(2)) == .seconds(5))
        #expect(SilenceState.limit(lease: .seconds(9)) == .seconds(9))
        #expect(SilenceState.limit(lease: .seconds(600)) == .seconds(15))
    }
}
