import CarillonPostgres

/// The arguments of the function `carillon.settle`, which are given by name. Nothing else depends on their order.
enum SettleColumns {
    static let all = claim + ended + failures + goingBack + stays + others

    /// Each name with its parameter: `app => $1, claim => $2, …`.
    static let list = all.enumerated().map { "\($1.name) => $\($0 + 1)" }.joined(separator: ", ")

    private static let claim = [
        SettleColumn("app") { $0.claim.app },
        SettleColumn("claim") { $0.claim.id },
        SettleColumn("worker") { $0.worker },
        SettleColumn("claimed") { Timestamp($0.claim.claimedAt) },
        SettleColumn("settlement_number") { $0.settlementNumber },
    ]

    /// Messages of which pushes have ended.
    private static let ended = [
        SettleColumn("ended", .int8) { PostgresArray($0.jobs(of: $0.ended).map(\.message)) },
        SettleColumn("ended_remaining", .int4) { $0.remaining },
        SettleColumn("ended_reference", .text) { $0.references(of: $0.jobs(of: $0.ended)) },
        SettleColumn("ended_broadcast", .int8) { PostgresArray(column: $0.jobs(of: $0.ended).map(\.broadcast)) },
        SettleColumn("ended_created", .timestamptz) {
            PostgresArray($0.jobs(of: $0.ended).map { Timestamp($0.createdAt) })
        },
        SettleColumn("ended_sent", .int4) { PostgresArray(column: $0.ended.lazy.map(\.sent), default: 1) },
        SettleColumn("ended_failed", .int4) { PostgresArray(column: $0.ended.lazy.map(\.failed), default: 0) },
        SettleColumn("ended_expired", .int4) { PostgresArray(column: $0.ended.lazy.map(\.expired), default: 0) },
        SettleColumn("ended_attempts", .int2) {
            PostgresArray(column: $0.jobs(of: $0.ended).map(\.attempts), default: 1)
        },
        SettleColumn("ended_status", .int2) { PostgresArray(column: $0.lastAttempts.map { $0?.status }) },
        SettleColumn("ended_reason", .text) { PostgresArray(column: $0.lastAttempts.map { $0?.reason }) },
    ]

    private static let failures = [
        SettleColumn("failed", .int8) { PostgresArray($0.jobs(of: $0.failures).map(\.message)) },
        SettleColumn("failed_reference", .text) { $0.references(of: $0.jobs(of: $0.failures)) },
        SettleColumn("failed_token", .text) { $0.tokens($0.failures.lazy.map(\.token)) },
        SettleColumn("failed_status", .int2) { PostgresArray($0.failures.lazy.map(\.status)) },
        SettleColumn("failed_reason", .text) { PostgresArray($0.failures.lazy.map(\.reason)) },
        SettleColumn("failed_unregistered_at", .timestamptz) {
            PostgresArray($0.failures.lazy.map { Timestamp($0.unregisteredAt) })
        },
        SettleColumn("failed_apns_id", .uuid) { $0.ids(of: $0.failures) },
        SettleColumn("failed_attempt", .int2) { PostgresArray($0.jobs(of: $0.failures).map(\.attempt)) },
        SettleColumn("failed_unique_id", .uuid) {
            PostgresArray(column: $0.failures.lazy.map { $0.uniqueID.map(PostgresUUID.init) })
        },
    ]

    private static let goingBack = [
        SettleColumn("again", .int8) { PostgresArray($0.jobs(of: $0.goingBack).map(\.id)) },
        SettleColumn("again_whole", .bool) { PostgresArray($0.goingBack.lazy.map(\.isWhole)) },
        SettleColumn("again_attempt", .int2) { PostgresArray($0.goingBack.lazy.map(\.attempt)) },
        SettleColumn("again_after", .int4) { PostgresArray($0.goingBack.lazy.map(\.delay)) },
        SettleColumn("again_place", .int4) { PostgresArray($0.placedGoingBack.lazy.map(\.job)) },
        SettleColumn("again_token", .text) { $0.tokens($0.placedGoingBack.lazy.map { .push($0.push) }) },
        SettleColumn("again_status", .int2) { PostgresArray(column: $0.goingBack.lazy.map(\.cause?.status)) },
        SettleColumn("again_reason", .text) { PostgresArray(column: $0.goingBack.lazy.map(\.cause?.reason)) },
    ]

    private static let stays = [
        SettleColumn("kept", .int8) { PostgresArray($0.jobs(of: $0.stays).map(\.id)) },
        SettleColumn("kept_whole", .bool) { PostgresArray($0.stays.lazy.map(\.isWhole)) },
        SettleColumn("kept_place", .int4) { PostgresArray($0.placedStays.lazy.map(\.job)) },
        SettleColumn("kept_token", .text) { $0.tokens($0.placedStays.lazy.map { .push($0.push) }) },
    ]

    private static let others = [
        SettleColumn("unanswered", .int8) { $0.unanswered },
        SettleColumn("identified", .int8) { PostgresArray($0.jobs(of: $0.identified).map(\.message)) },
        SettleColumn("identified_token", .text) { $0.tokens($0.identified.lazy.map { .push($0.push) }) },
        SettleColumn("identified_unique_id", .uuid) { PostgresArray($0.identified.lazy.map { PostgresUUID($0.id) }) },
    ]
}
