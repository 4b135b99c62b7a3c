import IO

/// Bytes under way in one direction: each piece comes out so long after it went in, in the order in which it went in. The
/// end of a connection travels as bytes do.
struct DelayLine {
    /// What travels.
    enum Freight: Equatable {
        case bytes([UInt8])
        /// The sender has sent its last.
        case end
        /// The sender has broken the connection off.
        case reset
    }

    private struct Piece {
        let due: MonotonicInstant
        var freight: Freight
    }

    let delay: Duration
    /// How much may be under way.
    private let limit: Int
    /// How much is, each piece with what it costs to keep.
    private var load = 0
    private var pieces: [Piece] = []
    private var first = 0
    /// Nothing comes out any more, and what goes in is lost.
    private(set) var isClosed = false

    init(delay: Duration, limit: Int) {
        self.delay = delay
        self.limit = limit
    }

    /// Nothing should go in until something has come out.
    var isFull: Bool { load >= limit }

    /// When the next piece comes out; nil: nothing is under way.
    var nextDue: MonotonicInstant? { first < pieces.count ? pieces[first].due : nil }

    /// A piece goes in.
    mutating func put(_ freight: Freight, at now: MonotonicInstant) {
        if isClosed { return }
        pieces.append(Piece(due: now + delay, freight: freight))
        load += freight.load
    }

    /// Its end has come out, or nobody is there to take more.
    mutating func close() {
        isClosed = true
        (pieces, first, load) = ([], 0, 0)
    }

    /// The next piece, if it has arrived.
    mutating func take(at now: MonotonicInstant) -> Freight? {
        guard let due = nextDue, due <= now else { return nil }
        let freight = exchange(&pieces[first].freight, with: .end)
        first += 1
        load -= freight.load
        // The places are let go of now and then, not piece by piece.
        if first == pieces.count || first >= 1024 {
            pieces.removeFirst(first)
            first = 0
        }
        return freight
    }
}

extension DelayLine.Freight {
    /// What a piece takes beside its bytes, roughly: many small ones fill the memory too.
    private static let overhead = 64

    fileprivate var load: Int {
        if case .bytes(let bytes) = self { Self.overhead + bytes.count } else { Self.overhead }
    }
}
