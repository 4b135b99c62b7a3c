/// When a token died, by the timestamp of its 410.
enum TimeOfDeath {
    /// 2008, before APNs, in seconds since 1970.
    private static let earliest: Int64 = 1_199_145_600

    /// In microseconds since 1970. The timestamp has milliseconds, as APNs writes it, or seconds, as the legacy service
    /// did; no valid number can mean both.
    ///
    /// Without a valid timestamp it is the time of the claim, so a token that is registered later is not deleted.
    static func of(timestamp: Int64?, claimedAt: Int64, now: Int64) -> Int64 {
        guard let timestamp else { return claimedAt }
        for unit: Int64 in [1000, 1_000_000] {
            let (time, isTooLarge) = timestamp.multipliedReportingOverflow(by: unit)
            if !isTooLarge, (Self.earliest * 1_000_000...max(Self.earliest * 1_000_000, now)).contains(time) {
                return time
            }
        }
        return claimedAt
    }
}
