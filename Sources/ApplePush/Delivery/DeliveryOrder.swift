/// The order in which the deliveries of a pool send their pushes: each sends a quantum of them at a time.
///
/// A delivery starts on the first level, with a short quantum, and moves on to levels with longer ones while it has pushes left. The
/// levels get equal shares of the pushes, so a short delivery does not wait for long ones, and many short ones do not stop a long
/// one. Deliveries on one level are served one after another, so that deliveries of equal size do not all end late.
///
/// Deliveries have numbers, and their places are linked lists in one array: joining, leaving and taking are O(1).
struct DeliveryOrder {
    /// Pushes in a quantum, by level. The last level is served round-robin.
    static let quanta: InlineArray<3, Int32> = [32, 256, 2_048]
    /// Pushes sent from one level before the next one is served.
    static let share = 32

    private struct Place {
        var previous: Int32 = DeliveryOrder.none
        var next: Int32 = DeliveryOrder.none
        /// `none` if it is not in line.
        var level: Int32 = DeliveryOrder.none
        /// Pushes taken of its current quantum.
        var taken: Int32 = 0
    }

    private struct Ends {
        var first: Int32 = DeliveryOrder.none
        var last: Int32 = DeliveryOrder.none
    }

    private static let none: Int32 = -1

    private var places: [Place] = []
    private var levels = InlineArray<3, Ends>(repeating: Ends())
    /// The level that is served now. It is empty only if all are.
    private var served = 0
    private var credit = DeliveryOrder.share

    /// The delivery that is served.
    var first: Int32? {
        let number = levels[served].first
        return number == Self.none ? nil : number
    }

    func contains(_ number: Int32) -> Bool {
        Int(number) < places.count && places[Int(number)].level != Self.none
    }

    /// The first delivery in line, in the order of `after`.
    var head: Int32? { firstFrom(level: 0) }

    /// The next delivery in line. Call it before `number` leaves.
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

    mutating func join(_ number: Int32) {
        while Int(number) >= places.count { places.append(Place()) }
        append(number, to: 0)
        skipEmptyLevels()
    }

    /// Puts a delivery whose pushes were returned at the front of the first level.
    mutating func rejoin(_ number: Int32) {
        let next = levels[0].first
        places[Int(number)] = Place(next: next, level: 0)
        if next == Self.none { levels[0].last = number } else { places[Int(next)].previous = number }
        levels[0].first = number
        skipEmptyLevels()
    }

    mutating func leave(_ number: Int32) {
        guard contains(number) else { return }
        unlink(number)
        skipEmptyLevels()
    }

    /// How many pushes of the first delivery may be taken of its quantum.
    var quantum: Int {
        guard let number = first else { return 0 }
        return min(Int(Self.quanta[served] - places[Int(number)].taken), credit)
    }

    /// This many pushes of the first delivery were taken, no more than `quantum`.
    mutating func took(_ count: Int) {
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
