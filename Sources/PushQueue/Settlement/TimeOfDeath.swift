/// Since when a token is dead, by the timestamp of its 410.
enum TimeOfDeath {
    /// APNs is younger than that: 2008, in seconds since 1970.
    private static let earliest: Int64 = 1_199_145_600

    /// All in microseconds since 1970 but the timestamp, which APNs writes in milliseconds; a gateway that writes seconds,
    /// as the legacy service did, is understood too, since no number can mean both.
    ///
    /// What is no time, or in the future, says no more than the status itself: at the time of the request the token was
    /// dead. The claim is taken for that, being a little earlier; whoever registers it after that is not in danger.
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
