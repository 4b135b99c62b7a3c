/// Lanes in the order of their turns, each of them at most once.
struct Round: Sendable {
    private var lanes: [Lane] = []
    private var start = 0
    private var members: Set<Lane> = []

    var isEmpty: Bool { start == lanes.count }
    var count: Int { lanes.count - start }
    var first: Lane? { isEmpty ? nil : lanes[start] }

    /// Puts the lane at the end, unless it is in the round already.
    mutating func append(_ lane: Lane) {
        guard members.insert(lane).inserted else { return }
        lanes.append(lane)
    }

    mutating func removeFirst() {
        guard let lane = first else { return }
        members.remove(lane)
        start += 1
        compact()
    }

    mutating func remove(_ lane: Lane) {
        guard members.remove(lane) != nil, let place = lanes[start...].firstIndex(of: lane) else {
            return
        }
        lanes.remove(at: place)
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
