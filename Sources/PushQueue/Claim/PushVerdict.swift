/// What happens to an update or a background push of a claim, as PostgreSQL says.
enum PushVerdict: Equatable {
    /// It is sent with this time in its payload, in seconds since 1970, or 0 for a push without a time.
    case send(stamp: Int64)
    /// It waits in `scheduled`.
    case later
    /// It has ended, since a newer one exists.
    case superseded

    init(_ answer: Int64?) {
        switch answer {
        case nil: self = .superseded
        case let stamp? where stamp < 0: self = .later
        case let stamp?: self = .send(stamp: stamp)
        }
    }
}
