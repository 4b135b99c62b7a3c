import CarillonIO

/// Measures how long a client has left the same piece incomplete: its first frame, a later frame, or a header block. The incomplete
/// piece and the time are passed to it.
struct Stall {
    /// How long a handshake, or a frame, may take.
    static let limit = Duration.seconds(10)

    private var piece: Int?
    private var since = MonotonicInstant(nanoseconds: 0)

    /// - Parameter piece: The piece that is incomplete now; nil if none is.
    mutating func isTooLong(_ piece: Int?, at now: MonotonicInstant) -> Bool {
        guard let piece, piece == self.piece else {
            (self.piece, since) = (piece, now)
            return false
        }
        return now - since >= Self.limit
    }

    /// The log's text for a client that has left the piece incomplete for too long.
    static func message(_ piece: Int?) -> String {
        let seconds = limit.components.seconds
        return piece == 0
            ? "the client did not begin HTTP/2 within \(seconds) s of its handshake"
            : "the client began an HTTP/2 frame and did not complete it within \(seconds) s"
    }

    /// The log's text for a client that has closed the connection with the piece incomplete.
    static func messageOnEnd(_ piece: Int) -> String {
        "the client closed the connection within \(piece == 0 ? "the HTTP/2 preface" : "an HTTP/2 frame")"
    }
}
