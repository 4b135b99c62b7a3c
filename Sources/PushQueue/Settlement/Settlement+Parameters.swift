import ApplePush
package import Postgres

extension Settlement {
    /// Writes the settlement; answers with a `SettlementAnswer`.
    package static let statement = Statement("settle", "SELECT carillon.settle(\(Arguments.list))")

    /// - Parameter part: How many parts of the claim were settled before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, part: Int16 = 0) -> Parameters {
        var arguments = Arguments(capacity: 1024 + ended.count * 24 + failures.count * 160)
        arguments.append(.app) { $0.append(claim.app) }
        arguments.append(.claim) { $0.append(claim.id) }
        arguments.append(.worker) { $0.append(worker) }
        arguments.append(.claimed) { $0.append(timestamp: claim.claimedAt) }
        arguments.append(.partNumber) { $0.append(part) }
        appendEnded(to: &arguments, claim)
        appendParts(to: &arguments, claim)
        appendFailures(to: &arguments, claim)
        appendDead(to: &arguments, claim)
        appendReturns(to: &arguments, claim)
        appendStays(to: &arguments, claim)
        append(returns.lazy.map(\.cause), .againStatus, .againReason, to: &arguments)
        arguments.append(.unanswered, PostgresArray(unanswered.lazy.map { claim.jobs[Int($0)].message }))
        append(ended.lazy.map(\.lastAttempt), .endedStatus, .endedReason, to: &arguments)
        append(parts.lazy.map(\.lastAttempt), .partStatus, .partReason, to: &arguments)
        return arguments.parameters
    }

    private func appendEnded(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        arguments.append(.ended, PostgresArray(ended.lazy.map { claim.jobs[Int($0.job)].id }))
        arguments.append(.endedReference, references(of: ended, claim))
        arguments.append(.endedBroadcast, broadcasts(of: ended, claim))
        arguments.append(.endedSent, Self.column(ended.lazy.map(\.sent), default: 1))
        arguments.append(.endedFailed, Self.column(ended.lazy.map(\.failed), default: 0))
        arguments.append(.endedExpired, Self.column(ended.lazy.map(\.expired), default: 0))
        let attempts = ended.lazy.map { claim.jobs[Int($0.job)].attempts }
        arguments.append(.endedAttempts, PostgresArray(attempts.allSatisfy { $0 == 1 } ? [] : Array(attempts)))
    }

    private func appendParts(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        arguments.append(.part, PostgresArray(parts.lazy.map { claim.jobs[Int($0.job)].message }))
        arguments.append(.partReference, references(of: parts, claim))
        arguments.append(.partBroadcast, broadcasts(of: parts, claim))
        // Of a message that is known to be unfinished already, what comes back was never taken off.
        arguments.append(.partReturned, PostgresArray(parts.lazy.map { $0.isKnown ? 0 : $0.remaining }))
        arguments.append(.partSent, PostgresArray(parts.lazy.map(\.sent)))
        arguments.append(.partFailed, PostgresArray(parts.lazy.map(\.failed)))
        arguments.append(.partExpired, PostgresArray(parts.lazy.map(\.expired)))
        arguments.append(.partAttempts, PostgresArray(parts.lazy.map { claim.jobs[Int($0.job)].attempts }))
    }

    private func appendFailures(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        var references = PostgresArray(of: .text)
        var tokens = PostgresArray(of: .text)
        var statuses = PostgresArray(of: .int2)
        var reasons = PostgresArray(of: .text)
        var dates = PostgresArray(of: .timestamptz)
        var ids = PostgresArray(of: .uuid)
        for failure in failures {
            append(claim.jobs[Int(failure.job)].reference, of: claim, to: &references)
            append(failure.token, of: claim, to: &tokens)
            if let status = failure.status { statuses.append(status) } else { statuses.appendNull() }
            reasons.append(failure.reason)
            if let date = failure.unregisteredAt { dates.append(timestamp: date) } else { dates.appendNull() }
            let id = claim.id(of: failure.token)
            ids.append(uuid: (id.high, id.low))
        }
        arguments.append(.failed, PostgresArray(failures.lazy.map { claim.jobs[Int($0.job)].message }))
        arguments.append(.failedReference, references)
        arguments.append(.failedToken, tokens)
        arguments.append(.failedStatus, statuses)
        arguments.append(.failedReason, reasons)
        arguments.append(.failedUnregisteredAt, dates)
        arguments.append(.failedID, ids)
        arguments.append(.failedAttempt, PostgresArray(failures.lazy.map { claim.jobs[Int($0.job)].attempt }))
    }

    private func appendDead(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        var tokens = PostgresArray(of: .text)
        var dates = PostgresArray(of: .timestamptz)
        var reasons = PostgresArray(of: .text)
        for failure in failures {
            guard let date = failure.unregisteredAt else { continue }
            append(failure.token, of: claim, to: &tokens)
            dates.append(timestamp: date)
            reasons.append(failure.reason)
        }
        arguments.append(.dead, tokens)
        arguments.append(.deadSince, dates)
        arguments.append(.deadReason, reasons)
    }

    private func appendReturns(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        var areWhole = PostgresArray(of: .bool)
        var delays = PostgresArray(of: .int4)
        for share in returns {
            areWhole.append(share.isWhole)
            if let delay = share.delay { delays.append(delay) } else { delays.appendNull() }
        }
        arguments.append(.again, PostgresArray(returns.lazy.map { claim.jobs[Int($0.job)].id }))
        arguments.append(.againWhole, areWhole)
        arguments.append(.againAttempt, PostgresArray(returns.lazy.map(\.attempt)))
        arguments.append(.againAfter, delays)
        appendTokens(of: returns.lazy.map { ($0.isWhole, $0.pushes) }, claim, .againPlace, .againToken, to: &arguments)
    }

    private func appendStays(to arguments: inout Arguments, _ claim: ClaimedJobs) {
        var areWhole = PostgresArray(of: .bool)
        for stay in stays { areWhole.append(stay.isWhole) }
        arguments.append(.kept, PostgresArray(stays.lazy.map { claim.jobs[Int($0.job)].id }))
        arguments.append(.keptWhole, areWhole)
        appendTokens(of: stays.lazy.map { ($0.isWhole, $0.pushes) }, claim, .keptPlace, .keptToken, to: &arguments)
    }

    /// The tokens of jobs of which only some return or stay, each with the place of its job. The database has those of
    /// whole jobs.
    private func appendTokens(
        of jobs: some Sequence<(isWhole: Bool, pushes: [Int32])>,
        _ claim: ClaimedJobs,
        _ place: Arguments.Name,
        _ token: Arguments.Name,
        to arguments: inout Arguments
    ) {
        var places = PostgresArray(of: .int4)
        var tokens = PostgresArray(of: .text)
        for (number, job) in jobs.enumerated() where !job.isWhole {
            for push in job.pushes {
                places.append(Int32(number + 1))
                append(.push(push), of: claim, to: &tokens)
            }
        }
        arguments.append(place, places)
        arguments.append(token, tokens)
    }

    /// Why attempts failed, job by job; two empty columns if nothing is known of any.
    private func append(
        _ causes: some Collection<RetryCause?>,
        _ status: Arguments.Name,
        _ reason: Arguments.Name,
        to arguments: inout Arguments
    ) {
        var statuses = PostgresArray(of: .int2)
        var reasons = PostgresArray(of: .text)
        if causes.contains(where: { $0 != nil }) {
            for cause in causes {
                if let status = cause?.status { statuses.append(status) } else { statuses.appendNull() }
                if let cause { reasons.append(cause.reason) } else { reasons.appendNull() }
            }
        }
        arguments.append(status, statuses)
        arguments.append(reason, reasons)
    }

    // MARK: Columns

    private func append(_ token: Failure.Token, of claim: ClaimedJobs, to tokens: inout PostgresArray) {
        switch token {
        case .push(let place):
            let range = claim.batch.pushes[Int(place)].token.range
            claim.batch.bytes.withSpan(range) { tokens.append($0) }
        case .refusal(let place):
            claim.texts.withSpan(claim.refusals[Int(place)].token.range) { tokens.append($0) }
        }
    }

    private func append(_ reference: ClaimedJobs.Extent?, of claim: ClaimedJobs, to column: inout PostgresArray) {
        guard let reference else { return column.appendNull() }
        claim.texts.withSpan(reference.range) { column.append($0) }
    }

    /// A column whose every value is the default is left empty.
    private static func column(_ values: some Collection<Int32>, default value: Int32) -> PostgresArray {
        PostgresArray(values.allSatisfy { $0 == value } ? [] : Array(values))
    }

    private func references(of shares: [Share], _ claim: ClaimedJobs) -> PostgresArray {
        var column = PostgresArray(of: .text)
        guard shares.contains(where: { claim.jobs[Int($0.job)].reference != nil }) else { return column }
        for share in shares { append(claim.jobs[Int(share.job)].reference, of: claim, to: &column) }
        return column
    }

    private func broadcasts(of shares: [Share], _ claim: ClaimedJobs) -> PostgresArray {
        var column = PostgresArray(of: .int8)
        guard shares.contains(where: { claim.jobs[Int($0.job)].broadcast != nil }) else { return column }
        for share in shares {
            if let broadcast = claim.jobs[Int(share.job)].broadcast {
                column.append(broadcast)
            } else {
                column.appendNull()
            }
        }
        return column
    }
}

extension ClaimedJobs {
    /// The identity of the push.
    func id(of token: Settlement.Failure.Token) -> PushID {
        switch token {
        case .push(let place): batch.pushes[Int(place)].id
        case .refusal(let place): refusals[Int(place)].id
        }
    }
}
