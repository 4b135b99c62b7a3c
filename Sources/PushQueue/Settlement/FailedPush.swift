import ApplePush
import CarillonPostgres

/// A push that failed for good: what becomes a row of `failures` and, if its token is dead, one of `feedback`.
struct FailedPush: Settlement.Item, Equatable, Sendable {
    enum Token: Equatable, Sendable {
        /// A position in the batch.
        case push(Int32)
        /// An index in the refused pushes.
        case refused(Int32)
    }

    /// The index of its job in the claim.
    let job: Int32
    let token: Token
    /// Nil if it was not sent, or not answered.
    let status: Int16?
    let reason: String
    /// When the token died, or nil if it is not dead.
    let unregisteredAt: Moment?
    /// Its `apns-unique-id`, if that is kept.
    var uniqueID: PushID?
}

extension FailedPush {
    /// 2008, before APNs, in microseconds since 1970.
    private static let earliestDeath: Int64 = 1_199_145_600_000_000

    /// When the token of a 410 died, in microseconds since 1970. The timestamp has milliseconds, as APNs writes it, or seconds, as
    /// the legacy service did; no valid number can mean both.
    ///
    /// Without a valid timestamp it is the time of the claim, so a token that is registered later is not deleted.
    static func timeOfDeath(by timestamp: Int64?, claimedAt: Int64, now: Int64) -> Int64 {
        guard let timestamp else { return claimedAt }
        for unit: Int64 in [1000, 1_000_000] {
            let (time, isTooLarge) = timestamp.multipliedReportingOverflow(by: unit)
            if !isTooLarge, (earliestDeath...max(earliestDeath, now)).contains(time) { return time }
        }
        return claimedAt
    }
}
