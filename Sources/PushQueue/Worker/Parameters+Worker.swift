import ApplePush
import CarillonIO
import CarillonPostgres

/// The parameters of those `WorkerStatements` that take more than a few values.
extension Parameters {
    /// - Parameter age: How long the worker has run, under earlier ids too.
    static func register(_ options: WorkerOptions, age: Duration) -> Parameters {
        Parameters(
            options.name,
            options.host,
            options.processID,
            options.version,
            options.lease.inSeconds,
            age.inSeconds
        )
    }

    static func release(_ claims: some Sequence<ClaimKey>, of worker: Int64) -> Parameters {
        Parameters(
            worker,
            PostgresArray(claims.lazy.map(\.id)),
            PostgresArray(claims.lazy.map { Timestamp($0.claimedAt) })
        )
    }

    static func order(_ updates: [Int32], of claim: ClaimedJobs, worker: Int64) -> Parameters {
        Parameters(
            claim.app,
            claim.id,
            worker,
            Timestamp(claim.claimedAt),
            PostgresArray(claim.jobs(of: updates)),
            tokens(of: updates, in: claim)
        )
    }

    /// - Parameter most: How many background pushes a device gets in an hour.
    static func pace(_ pushes: [Int32], of claim: ClaimedJobs, worker: Int64, most: Int32) -> Parameters {
        Parameters(
            claim.app,
            claim.id,
            worker,
            Timestamp(claim.claimedAt),
            PostgresArray(claim.jobs(of: pushes)),
            tokens(of: pushes, in: claim),
            most
        )
    }

    private static func tokens(of places: [Int32], in claim: ClaimedJobs) -> PostgresArray {
        var tokens = PostgresArray(of: .text)
        for place in places {
            claim.batch.bytes.withSpan(claim.batch.pushes[Int(place)].token.range) { tokens.append($0) }
        }
        return tokens
    }

    static func credential(_ finding: CredentialNotes.Finding) -> Parameters {
        let facts = try? finding.facts.get()
        let problem: String? = if case .failure(let hold) = finding.facts { hold.message } else { nil }
        return Parameters(
            finding.certificate,
            Timestamp(finding.since),
            Timestamp(facts?.notAfter.map { $0 * 1_000_000 }),
            PostgresArray(facts?.topics ?? []),
            problem
        )
    }

    static func promote(most: Int32, after position: DueFloor.Position) -> Parameters {
        Parameters(most, Timestamp(position.time), position.id)
    }

    /// The walk begins before the lowest possible lane. A range of paused apps is passed as a lane above all of its lanes.
    static func look(above floors: [(lane: Lane, id: Int64)], over ranges: [PausedRange] = []) -> Parameters {
        let walked =
            ranges.isEmpty ? floors : floors.filter { floor in !ranges.contains { $0.contains(floor.lane.app) } }
        let ends = ranges.map { (lane: Lane(app: $0.last, number: .max), id: Int64.max) }
        var parameters = Self.lookBelow([(Lane(app: .min, number: .min), .max)] + walked + ends)
        parameters.append(
            PostgresArray(Array(repeating: nil, count: 1 + walked.count) + ranges.map { $0.first as Int32? })
        )
        return parameters
    }

    static func lookBelow(_ floors: [(lane: Lane, id: Int64)]) -> Parameters {
        Parameters(
            PostgresArray(floors.lazy.map(\.lane.app)),
            PostgresArray(floors.lazy.map(\.lane.number)),
            PostgresArray(floors.lazy.map(\.id))
        )
    }
}

extension Duration {
    var inSeconds: Double { Double(nanoseconds) / 1e9 }
}
