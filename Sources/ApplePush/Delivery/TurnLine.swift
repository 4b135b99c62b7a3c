/// Whose turn it is among the deliveries of a pool that have pushes to send.
///
/// Every delivery begins on the first level and is served there for a short turn; if it is not done then, it goes on to the
/// next level, where turns are longer. The levels share the pushes evenly, so a short delivery does not wait for long ones,
/// and no number of short ones stops a long one. On one level the deliveries are served one after the other: those of a
/// common size end one by one, and not all at the end.
///
/// Deliveries are known by number, and their places are links in one array: joining, leaving and taking are O(1).
struct TurnLine {
    /// How many pushes a turn has, by level. On the last one turns go round.
    static let quanta: InlineArray<3, Int32> = [32, 256, 2_048]
    /// How many pushes a level has before the next one is served.
    static let share = 32

    private struct Place {
        var previous: Int32 = TurnLine.none
        var next: Int32 = TurnLine.none
        /// `none`: it is not in line.
        var level: Int32 = TurnLine.none
        /// Pushes taken in its present turn.
        var taken: Int32 = 0
    }

    private struct Ends {
        var first: Int32 = TurnLine.none
        var last: Int32 = TurnLine.none
    }

    private static let none: Int32 = -1

    private var places: [Place] = []
    private var levels = InlineArray<3, Ends>(repeating: Ends())
    /// The level that is served now; it is empty only if all are.
    private var served = 0
    private var credit = TurnLine.share

    /// Whose turn it is.
    var first: Int32? {
        let number = self.levels[self.served].first
        return number == Self.none ? nil : number
    }

    func contains(_ number: Int32) -> Bool {
        Int(number) < self.places.count && self.places[Int(number)].level != Self.none
    }

    /// The start of a walk over all in line.
    var head: Int32? { self.firstFrom(level: 0) }

    /// The next in a walk; asked before `number` leaves.
    func after(_ number: Int32) -> Int32? {
        let place = self.places[Int(number)]
        return place.next == Self.none ? self.firstFrom(level: Int(place.level) + 1) : place.next
    }

    private func firstFrom(level: Int) -> Int32? {
        for level in level..<max(level, self.levels.count) where self.levels[level].first != Self.none {
            return self.levels[level].first
        }
        return nil
    }

    /// A delivery has pushes to send.
    mutating func join(_ number: Int32) {
        while Int(number) >= self.places.count { self.places.append(Place()) }
        self.append(number, to: 0)
        self.skipEmptyLevels()
    }

    /// A delivery has pushes to send that were taken before and came back: it is the next of the first level.
    mutating func rejoin(_ number: Int32) {
        let next = self.levels[0].first
        self.places[Int(number)] = Place(next: next, level: 0)
        if next == Self.none { self.levels[0].last = number } else { self.places[Int(next)].previous = number }
        self.levels[0].first = number
        self.skipEmptyLevels()
    }

    /// A delivery has no more pushes to send.
    mutating func leave(_ number: Int32) {
        guard self.contains(number) else { return }
        self.unlink(number)
        self.skipEmptyLevels()
    }

    /// How many pushes of the first may be taken before it is another's turn.
    var turn: Int {
        guard let number = self.first else { return 0 }
        return min(Int(Self.quanta[self.served] - self.places[Int(number)].taken), self.credit)
    }

    /// So many pushes of the first were taken, no more than its turn has.
    mutating func took(_ count: Int = 1) {
        guard let number = self.first else { return }
        self.places[Int(number)].taken += Int32(count)
        self.credit -= count
        if self.places[Int(number)].taken == Self.quanta[self.served] {
            self.unlink(number)
            self.append(number, to: min(self.served + 1, self.levels.count - 1))
            self.skipEmptyLevels()
        }
        if self.credit <= 0 {
            self.served = (self.served + 1) % self.levels.count
            self.credit = Self.share
            self.skipEmptyLevels()
        }
    }

    private mutating func skipEmptyLevels() {
        for _ in 0..<self.levels.count where self.levels[self.served].first == Self.none {
            self.served = (self.served + 1) % self.levels.count
            self.credit = Self.share
        }
    }

    private mutating func append(_ number: Int32, to level: Int) {
        let last = self.levels[level].last
        self.places[Int(number)] = Place(previous: last, level: Int32(level))
        if last == Self.none { self.levels[level].first = number } else { self.places[Int(last)].next = number }
        self.levels[level].last = number
    }

    private mutating func unlink(_ number: Int32) {
        let place = self.places[Int(number)]
        let level = Int(place.level)
        if place.previous == Self.none {
            self.levels[level].first = place.next
        } else {
            self.places[Int(place.previous)].next = place.next
        }
        if place.next == Self.none {
            self.levels[level].last = place.previous
        } else {
            self.places[Int(place.next)].previous = place.previous
        }
        self.places[Int(number)] = Place()
    }
}
