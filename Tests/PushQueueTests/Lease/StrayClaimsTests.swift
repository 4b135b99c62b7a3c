import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct StrayClaimsTests {
    @Test func `a stray claim is released after the grace period, unless it was known meanwhile`() {
        var strays = StrayClaims()
        let now = MonotonicInstant(nanoseconds: 0)
        func found(_ ids: [Int64], at second: Int, claimedAt: Int64 = 5) -> [Int64] {
            let claims = ids.map { ClaimKey(id: $0, claimedAt: claimedAt) }
            strays.found(claims, at: now + .seconds(second), grace: .seconds(30))
            return strays.aged.map(\.id)
        }
        // At ten seconds the answer for the second comes. At the end a crash of the database has given a number away again.
        let aged = [
            found([1, 2], at: 0), found([1], at: 10), found([1, 2], at: 30), found([2], at: 59), found([2], at: 60),
            found([2], at: 61, claimedAt: 6),
        ]
        #expect(aged == [[], [], [1], [], [2], []])
    }
}
