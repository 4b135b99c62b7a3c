import ApplePush

/// A push that failed for good.
struct FailedPush: Settlement.Item, Equatable, Sendable {
    enum Token: Equatable, Sendable {
        /// A place in the batch.
        case push(Int32)
        /// A place in the refusals.
        case refusal(Int32)
    }

    /// The place of its job in the claim.
    let job: Int32
    let token: Token
    /// Nil if it was not sent, or not answered.
    let status: Int16?
    let reason: String
    /// When the token died, in microseconds since 1970, or nil if it is not dead.
    let unregisteredAt: Int64?
    /// Its `apns-unique-id`, if that is kept.
    var uniqueID: PushID?
}
