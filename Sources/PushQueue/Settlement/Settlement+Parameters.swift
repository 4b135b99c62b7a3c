import ApplePush
package import CarillonPostgres

extension Settlement {
    /// Writes the settlement; answers with a `SettlementAnswer`.
    package static let statement = Statement("settle", "SELECT carillon.settle(\(Arguments.list))")

    /// The arguments of the function `carillon.settle`, by name.
    private struct Arguments {
        private static let names = [
            "app", "claim", "worker", "claimed", "part_number",
            "ended", "ended_reference", "ended_broadcast", "ended_sent", "ended_failed", "ended_expired",
            "ended_attempts",
            "part", "part_reference", "part_broadcast", "part_returned", "part_sent", "part_failed", "part_expired",
            "part_attempts",
            "failed", "failed_reference", "failed_token", "failed_status", "failed_reason", "failed_unregistered_at",
            "failed_apns_id", "failed_attempt",
            "dead", "dead_since", "dead_reason",
            "again", "again_whole", "again_attempt", "again_after", "again_place", "again_token",
            "kept", "kept_whole", "kept_place", "kept_token",
            "again_status", "again_reason", "unanswered", "ended_status", "ended_reason", "part_status", "part_reason",
            "failed_unique_id", "identified", "identified_token", "identified_unique_id",
            "ended_created", "part_created",
        ]

        /// Each name with its parameter: `app => $1, claim => $2, …`.
        static let list = names.enumerated().map { "\($1) => $\($0 + 1)" }.joined(separator: ", ")

        private(set) var parameters: Parameters

        init(capacity: Int) { parameters = Parameters(capacity: capacity) }

        mutating func append(_ name: @autoclosure () -> String, _ value: some Parameter) {
            assert(Self.names[parameters.count] == name(), "\(name()) is not argument \(parameters.count + 1)")
            parameters.append(value)
        }
    }

    /// - Parameter part: How many parts of the claim were settled before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, part: Int16 = 0) -> Parameters {
        var arguments = Arguments(capacity: 1024 + ended.count * 24 + failures.count * 160)
        arguments.append("app", claim.app)
        arguments.append("claim", claim.id)
        arguments.append("worker", worker)
        arguments.append("claimed", Timestamp(claim.claimedAt))
        arguments.append("part_number", part)
        appendEnded(to: &arguments, claim)
        appendParts(to: &arguments, claim)
        appendFailures(to: &arguments, claim)
        appendReturns(to: &arguments, claim)
        appendStays(to: &arguments, claim)
        arguments.append("again_status", Self.column(returns.lazy.map(\.cause?.status)))
        arguments.append("again_reason", Self.column(returns.lazy.map(\.cause?.reason)))
        arguments.append("unanswered", PostgresArray(unanswered.lazy.map { claim.jobs[Int($0)].message }))
        arguments.append("ended_status", Self.column(lastAttempts(of: ended).map { $0?.status }))
        arguments.append("ended_reason", Self.column(lastAttempts(of: ended).map { $0?.reason }))
        arguments.append("part_status", Self.column(lastAttempts(of: parts).map { $0?.status }))
        arguments.append("part_reason", Self.column(lastAttempts(of: parts).map { $0?.reason }))
        appendUniqueIDs(to: &arguments, claim)
        arguments.append("ended_created", Self.times(of: ended, claim))
        arguments.append("part_created", Self.times(of: parts, claim))
        return arguments.parameters
    }

    /// Empty if there is none.
    private func lastAttempts(of shares: [JobTally]) -> [RetryCause?] {
        lastAttempts.isEmpty ? [] : shares.map { lastAttempts[$0.job] }
    }

    private func appendUniqueIDs(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        arguments.append("failed_unique_id", Self.column(failures.lazy.map { $0.uniqueID.map(PostgresUUID.init) }))
        arguments.append("identified", PostgresArray(identified.lazy.map { claim.jobs[Int($0.job)].message }))
        arguments.append("identified_token", Self.tokens(identified.lazy.map { .push($0.push) }, claim))
        arguments.append("identified_unique_id", PostgresArray(identified.lazy.map { PostgresUUID($0.id) }))
    }

    private func appendEnded(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        let jobs = ended.lazy.map { claim.jobs[Int($0.job)] }
        arguments.append("ended", PostgresArray(jobs.map(\.id)))
        arguments.append("ended_reference", Self.references(of: jobs, claim))
        arguments.append("ended_broadcast", Self.column(jobs.map(\.broadcast)))
        arguments.append("ended_sent", Self.column(ended.lazy.map(\.sent), default: 1))
        arguments.append("ended_failed", Self.column(ended.lazy.map(\.failed), default: 0))
        arguments.append("ended_expired", Self.column(ended.lazy.map(\.expired), default: 0))
        arguments.append("ended_attempts", Self.column(jobs.map(\.attempts), default: 1))
    }

    private func appendParts(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        let jobs = parts.lazy.map { claim.jobs[Int($0.job)] }
        arguments.append("part", PostgresArray(jobs.map(\.message)))
        arguments.append("part_reference", Self.references(of: jobs, claim))
        arguments.append("part_broadcast", Self.column(jobs.map(\.broadcast)))
        // The row in `unfinished` of a known message still counts the pushes that come back.
        arguments.append("part_returned", PostgresArray(parts.lazy.map { $0.isKnown ? 0 : $0.remaining }))
        arguments.append("part_sent", PostgresArray(parts.lazy.map(\.sent)))
        arguments.append("part_failed", PostgresArray(parts.lazy.map(\.failed)))
        arguments.append("part_expired", PostgresArray(parts.lazy.map(\.expired)))
        arguments.append("part_attempts", PostgresArray(jobs.map(\.attempts)))
    }

    private func appendFailures(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        let jobs = failures.lazy.map { claim.jobs[Int($0.job)] }
        arguments.append("failed", PostgresArray(jobs.map(\.message)))
        arguments.append("failed_reference", Self.references(of: jobs, claim))
        arguments.append("failed_token", Self.tokens(failures.lazy.map(\.token), claim))
        arguments.append("failed_status", PostgresArray(failures.lazy.map(\.status)))
        arguments.append("failed_reason", PostgresArray(failures.lazy.map(\.reason)))
        arguments.append("failed_unregistered_at", PostgresArray(failures.lazy.map { Timestamp($0.unregisteredAt) }))
        arguments.append("failed_apns_id", PostgresArray(failures.lazy.map { claim.id(of: $0.token) }))
        arguments.append("failed_attempt", PostgresArray(jobs.map(\.attempt)))
        let dead = failures.filter { $0.unregisteredAt != nil }
        arguments.append("dead", Self.tokens(dead.lazy.map(\.token), claim))
        arguments.append("dead_since", PostgresArray(dead.lazy.map { Timestamp($0.unregisteredAt) }))
        arguments.append("dead_reason", PostgresArray(dead.lazy.map(\.reason)))
    }

    private func appendReturns(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        arguments.append("again", PostgresArray(returns.lazy.map { claim.jobs[Int($0.job)].id }))
        arguments.append("again_whole", PostgresArray(returns.lazy.map(\.isWhole)))
        arguments.append("again_attempt", PostgresArray(returns.lazy.map(\.attempt)))
        arguments.append("again_after", PostgresArray(returns.lazy.map(\.delay)))
        let pushes = Self.pushes(returns.lazy.map { ($0.isWhole, $0.pushes) })
        arguments.append("again_place", PostgresArray(pushes.lazy.map(\.job)))
        arguments.append("again_token", Self.tokens(pushes.lazy.map { .push($0.push) }, claim))
    }

    private func appendStays(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        arguments.append("kept", PostgresArray(stays.lazy.map { claim.jobs[Int($0.job)].id }))
        arguments.append("kept_whole", PostgresArray(stays.lazy.map(\.isWhole)))
        let pushes = Self.pushes(stays.lazy.map { ($0.isWhole, $0.pushes) })
        arguments.append("kept_place", PostgresArray(pushes.lazy.map(\.job)))
        arguments.append("kept_token", Self.tokens(pushes.lazy.map { .push($0.push) }, claim))
    }

    // MARK: Columns

    /// A column whose every value is the default is left empty.
    private static func column<Value: PostgresValue & Equatable>(
        _ values: some Collection<Value>,
        default value: Value
    ) -> PostgresArray {
        values.allSatisfy { $0 == value } ? PostgresArray(of: Value.type) : PostgresArray(values)
    }

    /// A column of nulls is left empty.
    private static func column<Value: PostgresValue>(_ values: some Collection<Value?>) -> PostgresArray {
        values.contains { $0 != nil } ? PostgresArray(values) : PostgresArray(of: Value.type)
    }

    /// When the jobs were enqueued.
    private static func times(of shares: [JobTally], _ claim: ClaimedJobs) -> PostgresArray {
        PostgresArray(shares.lazy.map { Timestamp(claim.jobs[Int($0.job)].createdAt) })
    }

    private static func references(of jobs: some Collection<ClaimedJobs.Job>, _ claim: ClaimedJobs) -> PostgresArray {
        var column = PostgresArray(of: .text)
        guard jobs.contains(where: { $0.reference != nil }) else { return column }
        for job in jobs {
            if let reference = job.reference {
                claim.texts.withSpan(reference.range) { column.append($0) }
            } else {
                column.appendNull()
            }
        }
        return column
    }

    private static func tokens(_ tokens: some Sequence<FailedPush.Token>, _ claim: ClaimedJobs) -> PostgresArray {
        var column = PostgresArray(of: .text)
        for token in tokens {
            switch token {
            case .push(let place):
                claim.batch.bytes.withSpan(claim.batch.pushes[Int(place)].token.range) { column.append($0) }
            case .refusal(let place):
                claim.texts.withSpan(claim.refusals[Int(place)].token.range) { column.append($0) }
            }
        }
        return column
    }

    /// The pushes of jobs that return or stay only in part, each with the place of its job. The database has the tokens of
    /// the other jobs.
    private static func pushes(_ jobs: some Sequence<(isWhole: Bool, pushes: [Int32])>) -> [(job: Int32, push: Int32)] {
        jobs.enumerated().flatMap { number, job in job.isWhole ? [] : job.pushes.map { (Int32(number + 1), $0) } }
    }
}

extension ClaimedJobs {
    /// The identity of the push.
    func id(of token: FailedPush.Token) -> PostgresUUID {
        switch token {
        case .push(let place): PostgresUUID(batch.pushes[Int(place)].id)
        case .refusal(let place): PostgresUUID(refusals[Int(place)].id)
        }
    }
}

extension PostgresUUID {
    fileprivate init(_ id: PushID) { self.init(high: id.high, low: id.low) }
}
