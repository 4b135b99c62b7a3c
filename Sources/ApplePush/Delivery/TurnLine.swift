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
        let number = levels[served].first
        return number == Self.none ? nil : number
    }

    func contains(_ number: Int32) -> Bool {
        Int(number) < places.count && places[Int(number)].level != Self.none
    }

    /// The start of a walk over all in line.
    var head: Int32? { firstFrom(level: 0) }

    /// The next in a walk; asked before `number` leaves.
    func after(_ number: Int32) -> Int32? {
        let place = places[Int(number)]
        return place.next == Self.none ? firstFrom(level: Int(place.level) + 1) : place.next
    }

    private func firstFrom(level: Int) -> Int32? {
        for level in level..<max(level, levels.count) where levels[level].first != Self.none {
            return levels[level].first
        }
        return nil
    }

    /// A delivery has pushes to send.
    mutating func join(_ number: Int32) {
        while Int(number) >= places.count { places.append(Place()) }
        append(number, to: 0)
        skipEmptyLevels()
    }

    /// A delivery has pushes to send that were taken before and came back: it is the next of the first level.
    mutating func rejoin(_ number: Int32) {
        let next = levels[0].first
        places[Int(number)] = Place(next: next, level: 0)
        if next == Self.none { levels[0].last = number } else { places[Int(next)].previous = number }
        levels[0].first = number
        skipEmptyLevels()
    }

    /// A delivery has no more pushes to send.
    mutating func leave(_ number: Int32) {
        guard contains(number) else { return }
        unlink(number)
        skipEmptyLevels()
    }

    /// How many pushes of the first may be taken before it is another's turn.
    var turn: Int {
        guard let number = first else { return 0 }
        return min(Int(Self.quanta[served] - places[Int(number)].taken), credit)
    }

    /// So many pushes of the first were taken, no more than its turn has.
    mutating func took(_ count: Int = 1) {
        guard let number = first else { return }
        places[Int(number)].taken += Int32(count)
        credit -= count
        if places[Int(number)].taken == Self.quanta[served] {
            unlink(number)
            append(number, to: min(served + 1, levels.count - 1))
            skipEmptyLevels()
        }
        if credit <= 0 {
            served = (served + 1) % levels.count
            credit = Self.share
            skipEmptyLevels()
        }
    }

    private mutating func skipEmptyLevels() {
        for _ in 0..<levels.count where levels[served].first == Self.none {
            served = (served + 1) % levels.count
            credit = Self.share
        }
    }

    private mutating func append(_ number: Int32, to level: Int) {
        let last = levels[level].last
        places[Int(number)] = Place(previous: last, level: Int32(level))
        if last == Self.none { levels[level].first = number } else { places[Int(last)].next = number }
        levels[level].last = number
    }

    private mutating func unlink(_ number: Int32) {
        let place = places[Int(number)]
        let level = Int(place.level)
        if place.previous == Self.none {
            levels[level].first = place.next
        } else {
            places[Int(place.previous)].next = place.next
        }
        if place.next == Self.none {
            levels[level].last = place.previous
        } else {
            places[Int(place.next)].previous = place.previous
        }
        places[Int(number)] = Place()
    }
}
