import Testing

@testable import CarillonPushQueue

/// What a gateway writes as a timestamp may be anything.
@Suite struct GatewayTimestampTests {
    private static let now: Int64 = 1_800_000_000_000_000
    private static let claimedAt = Self.now - 5_000_000

    private static func time(_ timestamp: Int64?) -> Int64 {
        FailedPush.timeOfDeath(by: timestamp, claimedAt: Self.claimedAt, now: Self.now)
    }

    @Test func `timestamps in milliseconds and in seconds are read`() {
        #expect(Self.time(1_700_000_000_123) == 1_700_000_000_123_000)
        #expect(Self.time(1_700_000_000) == 1_700_000_000_000_000)
        #expect(Self.time(Self.now / 1000) == Self.now)
    }

    @Test(arguments: [
        nil, 0, 1, -1, -1_700_000_000_000, 123_456, .min, .max, 1_800_000_000_001, 1_800_000_001, 1_700_000_000_123_456,
    ])
    func `a timestamp that is missing, invalid or in the future is replaced by the claim`(_ timestamp: Int64?) {
        #expect(Self.time(timestamp) == Self.claimedAt)
    }

    @Test func `timestamps are ignored while the database's clock is years behind`() {
        #expect(FailedPush.timeOfDeath(by: 1_700_000_000_123, claimedAt: 5, now: 6) == 5)
    }
}
