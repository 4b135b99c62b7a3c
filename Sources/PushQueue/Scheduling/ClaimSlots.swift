/// Claims that wait for their answers. Deep and shallow lanes have slots of their own, so that one app with many messages
/// and many apps with few do not hold up each other.
struct ClaimSlots: Sendable {
    /// Claims of shallow lanes are small, and many of them share a round trip.
    static let shallow = 24
    /// Claims of deep lanes are large. The server works on one, the others keep the connection busy.
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
        precondition(taken.shallow >= 0 && taken.deep >= 0, "more claims were answered than asked for")
    }
}
