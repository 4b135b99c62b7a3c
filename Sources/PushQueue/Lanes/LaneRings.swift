/// The lanes of one depth: a ring for each urgency, and the urgency that is served.
struct LaneRings: Sendable {
    /// Lanes in the order in which they are served, each at most once.
    struct Ring: Sendable {
        private var lanes: [Lane] = []
        private var start = 0
        private var members: Set<Lane> = []

        var isEmpty: Bool { start == lanes.count }
        var count: Int { lanes.count - start }
        var first: Lane? { isEmpty ? nil : lanes[start] }

        /// Puts the lane at the end, unless it is in the ring already.
        mutating func append(_ lane: Lane) {
            if members.insert(lane).inserted { lanes.append(lane) }
        }

        mutating func removeFirst() {
            guard let lane = first else { return }
            members.remove(lane)
            start += 1
            compact()
        }

        /// Puts the first lane at the end.
        mutating func rotate() {
            guard let lane = first else { return }
            lanes.append(lane)
            start += 1
            compact()
        }

        private mutating func compact() {
            guard start > 64, start * 2 > lanes.count else { return }
            lanes.removeFirst(start)
            start = 0
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
