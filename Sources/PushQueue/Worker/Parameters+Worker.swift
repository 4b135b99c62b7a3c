import ApplePush
import CarillonIO
import CarillonPostgres

/// The parameters of `WorkerStatements`.
extension Parameters {
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

    static func promote(most: Int32, after position: DueFloor.Position) -> Parameters {
        Parameters(most, Timestamp(position.time), position.id)
    }
}
