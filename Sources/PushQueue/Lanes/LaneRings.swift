import CarillonIO

/// The lanes of one depth: a ring for each urgency, and the urgency that is served.
struct LaneRings: Sendable {
    /// Lanes in the order in which they are served, each at most once. A lane to which rows keep coming is *regular*. Regular
    /// lanes and the others are served alternately, so a regular lane waits only for other regular lanes, even behind ten
    /// thousand new ones.
    struct Ring: Sendable {
        private var regular = Fifo<Lane>()
        private var others = Fifo<Lane>()
        private var members: Set<Lane> = []
        /// The regular lanes are served next, if there are any.
        private var prefersRegular = true

        private var servesRegular: Bool { others.isEmpty || prefersRegular && !regular.isEmpty }

        var isEmpty: Bool { regular.isEmpty && others.isEmpty }
        var count: Int { regular.count + others.count }
        var first: Lane? { servesRegular ? regular.first : others.first }

        /// Puts the lane at an end, unless it is in the ring already.
        mutating func append(_ lane: Lane, isRegular: Bool) {
            guard members.insert(lane).inserted else { return }
            if isRegular { regular.append(lane) } else { others.append(lane) }
        }

        mutating func removeFirst() {
            guard let lane = takeFirst() else { return }
            members.remove(lane)
        }

        /// Puts the first lane at the end of those that are not regular: it has had its quantum.
        mutating func rotate() {
            guard let lane = takeFirst() else { return }
            others.append(lane)
        }

        private mutating func takeFirst() -> Lane? {
            prefersRegular = !servesRegular
            return prefersRegular ? others.popFirst() : regular.popFirst()
        }
    }

    private var rings = (Ring(), Ring(), Ring())
    private(set) var urgency = Lane.Urgency.urgent
    private var claimsLeft = Lane.Urgency.urgent.claims

    private(set) var isEmpty = true

    subscript(urgency: Lane.Urgency) -> Ring {
        // `_read` with a switch crashes the optimizer of Swift 6.3.1.
        get {
            switch urgency {
            case .urgent: rings.0
            case .normal: rings.1
            case .bulk: rings.2
            }
        }
        _modify {
            defer { isEmpty = rings.0.isEmpty && rings.1.isEmpty && rings.2.isEmpty }
            switch urgency {
            case .urgent: yield &rings.0
            case .normal: yield &rings.1
            case .bulk: yield &rings.2
            }
        }
    }

    /// A claim was planned.
    mutating func claimed() {
        claimsLeft -= 1
        if claimsLeft == 0 { pass() }
    }

    /// Serves the next urgency.
    mutating func pass() {
        urgency = urgency.next
        claimsLeft = urgency.claims
    }
}
