/// Identifies a claim that was made. The number alone does not: claims commit asynchronously, so a crash of the database may
/// undo one and give its number to another while its pushes are in flight.
struct ClaimKey: Hashable, Sendable {
    let id: Int64
    let claimedAt: Int64
}
