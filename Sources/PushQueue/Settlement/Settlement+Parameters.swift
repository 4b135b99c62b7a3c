import ApplePush
package import Postgres

extension Settlement {
    /// Writes the settlement; answers with a `SettlementAnswer`.
    package static let statement = Statement(
        "settle",
        """
        SELECT carillon.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, \
        $39, $40, $41, $42, $43, $44, $45, $46, $47)
        """
    )

    /// - Parameter part: How many parts of the claim were settled before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, part: Int16 = 0) -> Parameters {
        var parameters = Parameters(capacity: 1024 + ended.count * 24 + failures.count * 160)
        parameters.append(claim.id)
        parameters.append(worker)
        parameters.append(timestamp: claim.claimedAt)
        parameters.append(part)
        appendEnded(to: &parameters, claim)
        appendParts(to: &parameters, claim)
        appendFailures(to: &parameters, claim)
        appendDead(to: &parameters, claim)
        appendReturns(to: &parameters, claim)
        appendStays(to: &parameters, claim)
        append(causes: returns.lazy.map(\.cause), to: &parameters)
        parameters.append(PostgresArray(unanswered.lazy.map { claim.jobs[Int($0)].message }))
        append(causes: ended.lazy.map(\.lastAttempt), to: &parameters)
        append(causes: parts.lazy.map(\.lastAttempt), to: &parameters)
        return parameters
    }

    private func appendEnded(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        parameters.append(PostgresArray(ended.lazy.map { claim.jobs[Int($0.job)].id }))
        parameters.append(references(of: ended, claim))
        parameters.append(broadcasts(of: ended, claim))
        parameters.append(Self.column(ended.lazy.map(\.sent), default: 1))
        parameters.append(Self.column(ended.lazy.map(\.failed), default: 0))
        parameters.append(Self.column(ended.lazy.map(\.expired), default: 0))
        let attempts = ended.lazy.map { claim.jobs[Int($0.job)].attempts }
        parameters.append(PostgresArray(attempts.allSatisfy { $0 == 1 } ? [] : Array(attempts)))
    }

    private func appendParts(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        parameters.append(PostgresArray(parts.lazy.map { claim.jobs[Int($0.job)].message }))
        parameters.append(references(of: parts, claim))
        parameters.append(broadcasts(of: parts, claim))
        // Of a message that is known to be unfinished already, what comes back was never taken off.
        parameters.append(PostgresArray(parts.lazy.map { $0.isKnown ? 0 : $0.remaining }))
        parameters.append(PostgresArray(parts.lazy.map(\.sent)))
        parameters.append(PostgresArray(parts.lazy.map(\.failed)))
        parameters.append(PostgresArray(parts.lazy.map(\.expired)))
        parameters.append(PostgresArray(parts.lazy.map { claim.jobs[Int($0.job)].attempts }))
    }

    private func appendFailures(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        var messages = PostgresArray(of: .int8)
        var references = PostgresArray(of: .text)
        var tokens = PostgresArray(of: .text)
        var statuses = PostgresArray(of: .int2)
        var reasons = PostgresArray(of: .text)
        var dates = PostgresArray(of: .timestamptz)
        var ids = PostgresArray(of: .uuid)
        var attempts = PostgresArray(of: .int2)
        for failure in failures {
            let job = claim.jobs[Int(failure.job)]
            messages.append(job.message)
            if let reference = job.reference {
                claim.texts.withSpan(reference.range) { references.append($0) }
            } else {
                references.appendNull()
            }
            append(failure.token, of: claim, to: &tokens)
            if let status = failure.status { statuses.append(status) } else { statuses.appendNull() }
            reasons.append(failure.reason)
            if let date = failure.unregisteredAt { dates.append(timestamp: date) } else { dates.appendNull() }
            let id = claim.id(of: failure.token)
            ids.append(uuid: (id.high, id.low))
            attempts.append(job.attempt)
        }
        parameters.append(messages)
        parameters.append(references)
        parameters.append(tokens)
        parameters.append(statuses)
        parameters.append(reasons)
        parameters.append(dates)
        parameters.append(ids)
        parameters.append(attempts)
    }

    private func appendDead(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        var tokens = PostgresArray(of: .text)
        var dates = PostgresArray(of: .timestamptz)
        var reasons = PostgresArray(of: .text)
        for failure in failures {
            guard let date = failure.unregisteredAt else { continue }
            append(failure.token, of: claim, to: &tokens)
            dates.append(timestamp: date)
            reasons.append(failure.reason)
        }
        parameters.append(tokens)
        parameters.append(dates)
        parameters.append(reasons)
    }

    private func appendReturns(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        var jobs = PostgresArray(of: .int8)
        var areWhole = PostgresArray(of: .bool)
        var attempts = PostgresArray(of: .int2)
        var delays = PostgresArray(of: .int4)
        var places = PostgresArray(of: .int4)
        var tokens = PostgresArray(of: .text)
        for (place, share) in returns.enumerated() {
            jobs.append(claim.jobs[Int(share.job)].id)
            areWhole.append(share.isWhole)
            attempts.append(share.attempt)
            if let delay = share.delay { delays.append(delay) } else { delays.appendNull() }
            // The database still has the tokens of what goes back whole.
            guard !share.isWhole else { continue }
            for push in share.pushes {
                places.append(Int32(place + 1))
                append(.push(push), of: claim, to: &tokens)
            }
        }
        parameters.append(jobs)
        parameters.append(areWhole)
        parameters.append(attempts)
        parameters.append(delays)
        parameters.append(places)
        parameters.append(tokens)
    }

    private func appendStays(to parameters: inout Parameters, _ claim: ClaimedJobs) {
        var places = PostgresArray(of: .int4)
        var tokens = PostgresArray(of: .text)
        for (place, stay) in stays.enumerated() where !stay.isWhole {
            for push in stay.pushes {
                places.append(Int32(place + 1))
                append(.push(push), of: claim, to: &tokens)
            }
        }
        var areWhole = PostgresArray(of: .bool)
        for stay in stays { areWhole.append(stay.isWhole) }
        parameters.append(PostgresArray(stays.lazy.map { claim.jobs[Int($0.job)].id }))
        parameters.append(areWhole)
        parameters.append(places)
        parameters.append(tokens)
    }

    /// Why attempts failed, job by job; two empty columns if nothing is known of any.
    private func append(causes: some Collection<RetryCause?>, to parameters: inout Parameters) {
        var statuses = PostgresArray(of: .int2)
        var reasons = PostgresArray(of: .text)
        if causes.contains(where: { $0 != nil }) {
            for cause in causes {
                if let status = cause?.status { statuses.append(status) } else { statuses.appendNull() }
                if let cause { reasons.append(cause.reason) } else { reasons.appendNull() }
            }
        }
        parameters.append(statuses)
        parameters.append(reasons)
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

    /// A column whose every value is the default is left empty.
    private static func column(_ values: some Collection<Int32>, default value: Int32) -> PostgresArray {
        PostgresArray(values.allSatisfy { $0 == value } ? [] : Array(values))
    }

    private func references(of shares: [Share], _ claim: ClaimedJobs) -> PostgresArray {
        var column = PostgresArray(of: .text)
        guard shares.contains(where: { claim.jobs[Int($0.job)].reference != nil }) else { return column }
        for share in shares {
            if let reference = claim.jobs[Int(share.job)].reference {
                claim.texts.withSpan(reference.range) { column.append($0) }
            } else {
                column.appendNull()
            }
        }
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
