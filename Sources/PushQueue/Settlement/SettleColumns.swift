package import CarillonPostgres

/// The arguments of the function `carillon.settle`, which are given by name. Nothing else depends on their order.
enum SettleColumns {
    /// An argument: its name, its type, and where its value comes from.
    struct Column: Sendable {
        let name: String
        /// The number of its type in `pg_type`.
        let typeID: UInt32
        private let append: @Sendable (SettleArguments, inout Parameters) -> Void

        /// A single value.
        init<Value: PostgresValue>(_ name: String, _ value: @escaping @Sendable (SettleArguments) -> Value) {
            self.name = name
            typeID = Value.type.id
            append = { claim, parameters in parameters.append(value(claim)) }
        }

        /// An array with elements of this type.
        init(_ name: String, _ type: PostgresType, _ values: @escaping @Sendable (SettleArguments) -> PostgresArray) {
            self.name = name
            typeID = PostgresArray(of: type).typeID
            append = { claim, parameters in
                let array = values(claim)
                assert(array.type == type, "\(name) has elements of another type")
                parameters.append(array)
            }
        }

        func append(of claim: SettleArguments, to parameters: inout Parameters) { append(claim, &parameters) }
    }

    static let all = claim + ended + failures + goingBack + staying + others

    /// Each name with its parameter: `app => $1, claim => $2, …`.
    static let list = all.enumerated().map { "\($1.name) => $\($0 + 1)" }.joined(separator: ", ")

    private static let claim = [
        Column("app") { $0.claim.app },
        Column("claim") { $0.claim.id },
        Column("worker") { $0.worker },
        Column("claimed") { Timestamp($0.claim.claimedAt) },
        Column("settlement_number") { $0.settlementNumber },
    ]

    /// Messages of which pushes have ended.
    private static let ended = [
        Column("ended", .int8) { PostgresArray($0.jobs(of: $0.ended).map(\.message)) },
        Column("ended_remaining", .int4) { $0.remaining },
        Column("ended_reference", .text) { $0.references(of: $0.jobs(of: $0.ended)) },
        Column("ended_broadcast", .int8) { PostgresArray(column: $0.jobs(of: $0.ended).map(\.broadcast)) },
        Column("ended_created", .timestamptz) {
            PostgresArray($0.jobs(of: $0.ended).map { Timestamp($0.createdAt) })
        },
        Column("ended_sent", .int4) { PostgresArray(column: $0.ended.lazy.map(\.sent), default: 1) },
        Column("ended_failed", .int4) { PostgresArray(column: $0.ended.lazy.map(\.failed), default: 0) },
        Column("ended_expired", .int4) { PostgresArray(column: $0.ended.lazy.map(\.expired), default: 0) },
        Column("ended_attempts", .int2) {
            PostgresArray(column: $0.jobs(of: $0.ended).map(\.attempts), default: 1)
        },
        Column("ended_status", .int2) { PostgresArray(column: $0.lastAttempts.map { $0?.status }) },
        Column("ended_reason", .text) { PostgresArray(column: $0.lastAttempts.map { $0?.reason }) },
    ]

    private static let failures = [
        Column("failed", .int8) { PostgresArray($0.jobs(of: $0.failures).map(\.message)) },
        Column("failed_reference", .text) { $0.references(of: $0.jobs(of: $0.failures)) },
        Column("failed_token", .text) { $0.tokens($0.failures.lazy.map(\.token)) },
        Column("failed_status", .int2) { PostgresArray($0.failures.lazy.map(\.status)) },
        Column("failed_reason", .text) { PostgresArray($0.failures.lazy.map(\.reason)) },
        Column("failed_unregistered_at", .timestamptz) {
            PostgresArray($0.failures.lazy.map { Timestamp($0.unregisteredAt) })
        },
        Column("failed_apns_id", .uuid) { $0.ids(of: $0.failures) },
        Column("failed_attempt", .int2) { PostgresArray($0.jobs(of: $0.failures).map(\.attempt)) },
        Column("failed_unique_id", .uuid) {
            PostgresArray(column: $0.failures.lazy.map { $0.uniqueID.map(PostgresUUID.init) })
        },
    ]

    private static let goingBack = [
        Column("going_back", .int8) { PostgresArray($0.jobs(of: $0.goingBack).map(\.id)) },
        Column("going_back_whole", .bool) { PostgresArray($0.goingBack.lazy.map(\.isWhole)) },
        Column("going_back_attempt", .int2) { PostgresArray($0.goingBack.lazy.map(\.attempt)) },
        Column("going_back_after", .int4) { PostgresArray($0.goingBack.lazy.map(\.delay)) },
        Column("going_back_place", .int4) { PostgresArray($0.placedGoingBack.lazy.map(\.job)) },
        Column("going_back_token", .text) { $0.tokens($0.placedGoingBack.lazy.map { .push($0.push) }) },
        Column("going_back_status", .int2) { PostgresArray(column: $0.goingBack.lazy.map(\.cause?.status)) },
        Column("going_back_reason", .text) { PostgresArray(column: $0.goingBack.lazy.map(\.cause?.reason)) },
    ]

    private static let staying = [
        Column("staying", .int8) { PostgresArray($0.jobs(of: $0.staying).map(\.id)) },
        Column("staying_whole", .bool) { PostgresArray($0.staying.lazy.map(\.isWhole)) },
        Column("staying_place", .int4) { PostgresArray($0.placedStaying.lazy.map(\.job)) },
        Column("staying_token", .text) { $0.tokens($0.placedStaying.lazy.map { .push($0.push) }) },
    ]

    private static let others = [
        Column("unanswered", .int8) { $0.unanswered },
        Column("identified", .int8) { PostgresArray($0.jobs(of: $0.identified).map(\.message)) },
        Column("identified_token", .text) { $0.tokens($0.identified.lazy.map { .push($0.push) }) },
        Column("identified_unique_id", .uuid) { PostgresArray($0.identified.lazy.map { PostgresUUID($0.id) }) },
    ]
}

extension Settlement {
    /// Writes the settlement; answers with a `SettlementTry.Effect`.
    package static let statement = Statement("settle", "SELECT carillon.settle(\(SettleColumns.list))")

    /// - Parameter settlementNumber: How many settlements of the claim there were before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, settlementNumber: Int16 = 0) -> Parameters {
        let settled = SettleArguments(self, of: claim, worker: worker, settlementNumber: settlementNumber)
        var parameters = Parameters(capacity: 1024 + ended.count * 24 + failures.count * 160)
        for column in SettleColumns.all { column.append(of: settled, to: &parameters) }
        return parameters
    }
}

extension PostgresArray {
    /// A column whose every value is the default is left empty.
    fileprivate init<Value: PostgresValue & Equatable>(column values: some Collection<Value>, default value: Value) {
        if values.allSatisfy({ $0 == value }) { self.init(of: Value.type) } else { self.init(values) }
    }

    /// A column of nulls is left empty.
    fileprivate init<Value: PostgresValue>(column values: some Collection<Value?>) {
        if values.contains(where: { $0 != nil }) { self.init(values) } else { self.init(of: Value.type) }
    }
}
