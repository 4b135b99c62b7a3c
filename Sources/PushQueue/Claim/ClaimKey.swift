/// Identifies a claim. The number alone does not: a claim does not wait for the disk, so a crash of the database may undo it
/// and give its number to another one while its pushes are in flight.
struct ClaimKey: Hashable, Sendable {
    let id: Int64
    let claimedAt: Int64
}

extension ClaimedJobs {
    var key: ClaimKey { ClaimKey(id: id, claimedAt: claimedAt) }
}
