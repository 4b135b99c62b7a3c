/// Limits the claims that have not returned. Deep and shallow lanes have separate slots, so that one app with many messages and
/// many apps with few do not delay each other.
struct ClaimSlots: Sendable {
    /// These claims are small, and many share a round trip.
    static let shallow = 24
    /// These claims are large: the server works on one while the others are on the wire.
    static let deep = 3

    private var taken = (shallow: 0, deep: 0)

    func isOpen(_ depth: Lane.Depth) -> Bool {
        switch depth {
        case .shallow: taken.shallow < Self.shallow
        case .deep: taken.deep < Self.deep
        }
    }

    var areEmpty: Bool { taken == (0, 0) }

    mutating func take(_ depth: Lane.Depth) { add(1, depth) }

    mutating func free(_ depth: Lane.Depth) { add(-1, depth) }

    private mutating func add(_ claims: Int, _ depth: Lane.Depth) {
        switch depth {
        case .shallow: taken.shallow += claims
        case .deep: taken.deep += claims
        }
        precondition(taken.shallow >= 0 && taken.deep >= 0, "more claims have returned than were made")
    }
}
