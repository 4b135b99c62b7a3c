/// What tells a claim from every other one of its database. The number alone does not: a crash of the database may undo a
/// claim, which does not wait for the disk, and give its number away again while its pushes are still in the air.
struct ClaimKey: Hashable, Sendable {
    let id: Int64
    let claimedAt: Int64
}

extension ClaimedJobs {
    var key: ClaimKey { ClaimKey(id: id, claimedAt: claimedAt) }
}
