import IO

/// For how long a client has left the same thing incomplete: its first frame, a later one, or a header block.
///
/// No clock: what is incomplete and the time go in, and whether that takes too long comes out.
struct Stall {
    /// How long a handshake, or a frame, may take.
    static let limit = Duration.seconds(10)

    private var piece: Int?
    private var since = MonotonicInstant(nanoseconds: 0)

    /// - Parameter piece: What is incomplete now; nil: nothing.
    mutating func isTooLong(_ piece: Int?, at now: MonotonicInstant) -> Bool {
        guard let piece, piece == self.piece else {
            (self.piece, since) = (piece, now)
            return false
        }
        return now - since >= Self.limit
    }
}
