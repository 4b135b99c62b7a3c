/// Lanes in the order of their turns, each of them at most once.
struct Round: Sendable {
    private var lanes: [Lane] = []
    private var start = 0
    private var members: Set<Lane> = []

    var isEmpty: Bool { self.start == self.lanes.count }
    var count: Int { self.lanes.count - self.start }
    var first: Lane? { self.isEmpty ? nil : self.lanes[self.start] }

    /// Puts the lane at the end, unless it is in the round already.
    mutating func append(_ lane: Lane) {
        guard self.members.insert(lane).inserted else { return }
        self.lanes.append(lane)
    }

    mutating func removeFirst() {
        guard let lane = self.first else { return }
        self.members.remove(lane)
        self.start += 1
        self.compact()
    }

    mutating func remove(_ lane: Lane) {
        guard self.members.remove(lane) != nil, let place = self.lanes[self.start...].firstIndex(of: lane) else {
            return
        }
        self.lanes.remove(at: place)
    }

    /// Puts the first lane at the end.
    mutating func rotate() {
        guard let lane = self.first else { return }
        self.lanes.append(lane)
        self.start += 1
        self.compact()
    }

    private mutating func compact() {
        guard self.start > 64, self.start * 2 > self.lanes.count else { return }
        self.lanes.removeFirst(self.start)
        self.start = 0
    }
}
