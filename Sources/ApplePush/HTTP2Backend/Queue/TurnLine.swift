/// Whose turn it is among the deliveries of a pool that have pushes to send.
///
/// A delivery that has just joined is served before those that have had a turn already, up to one quantum of pushes;
/// after that it takes turns with the others, a quantum each. The two groups share the pushes half and half, so a short
/// delivery does not wait for long ones, and no number of short ones stops a long one.
///
/// Deliveries are known by number, and their places are links in one array: joining, leaving and taking are O(1).
struct TurnLine {
    /// How many pushes a turn has.
    static let quantum = 32

    private enum Group: UInt8 {
        case none
        case fresh
        case standing

        var other: Group { self == .fresh ? .standing : .fresh }
    }

    private struct Place {
        var previous: Int32 = TurnLine.none
        var next: Int32 = TurnLine.none
        var group = Group.none
        /// Pushes taken in its present turn.
        var taken: Int32 = 0
    }

    private struct Ends {
        var first: Int32 = TurnLine.none
        var last: Int32 = TurnLine.none
    }

    private static let none: Int32 = -1

    private var places: [Place] = []
    private var fresh = Ends()
    private var standing = Ends()
    /// The group that is served now, unless it is empty.
    private var served = Group.fresh
    /// How many pushes that group still has before the other is served.
    private var credit = TurnLine.quantum

    /// Whose turn it is.
    var first: Int32? {
        let preferred = self.ends(of: self.served).first
        let number = preferred == Self.none ? self.ends(of: self.served.other).first : preferred
        return number == Self.none ? nil : number
    }

    func contains(_ number: Int32) -> Bool {
        Int(number) < self.places.count && self.places[Int(number)].group != .none
    }

    /// The start of a walk over all in line, in no order that matters.
    var head: Int32? {
        let number = self.fresh.first == Self.none ? self.standing.first : self.fresh.first
        return number == Self.none ? nil : number
    }

    /// The next in a walk; asked before `number` leaves.
    func after(_ number: Int32) -> Int32? {
        let place = self.places[Int(number)]
        let next = place.next == Self.none && place.group == .fresh ? self.standing.first : place.next
        return next == Self.none ? nil : next
    }

    /// A delivery has pushes to send.
    mutating func join(_ number: Int32) {
        while Int(number) >= self.places.count { self.places.append(Place()) }
        self.append(number, to: .fresh)
    }

    /// A delivery has pushes to send that were taken before and came back: it is the next one.
    mutating func rejoin(_ number: Int32) {
        let next = self.fresh.first
        self.places[Int(number)] = Place(next: next, group: .fresh)
        if next == Self.none { self.fresh.last = number } else { self.places[Int(next)].previous = number }
        self.fresh.first = number
    }

    /// A delivery has no more pushes to send.
    mutating func leave(_ number: Int32) {
        guard self.contains(number) else { return }
        let place = self.places[Int(number)]
        var ends = self.ends(of: place.group)
        if place.previous == Self.none {
            ends.first = place.next
        } else {
            self.places[Int(place.previous)].next = place.next
        }
        if place.next == Self.none {
            ends.last = place.previous
        } else {
            self.places[Int(place.next)].previous = place.previous
        }
        self.set(ends, of: place.group)
        self.places[Int(number)] = Place()
    }

    /// A push of the first was taken.
    mutating func took() {
        guard let number = self.first else { return }
        self.places[Int(number)].taken += 1
        if self.places[Int(number)].taken == Self.quantum {
            self.leave(number)
            self.append(number, to: .standing)
        }
        self.credit -= 1
        if self.credit == 0 {
            self.credit = Self.quantum
            self.served = self.served.other
        }
    }

    private mutating func append(_ number: Int32, to group: Group) {
        var ends = self.ends(of: group)
        self.places[Int(number)] = Place(previous: ends.last, group: group)
        if ends.last == Self.none { ends.first = number } else { self.places[Int(ends.last)].next = number }
        ends.last = number
        self.set(ends, of: group)
    }

    private func ends(of group: Group) -> Ends { group == .standing ? self.standing : self.fresh }

    private mutating func set(_ ends: Ends, of group: Group) {
        if group == .standing { self.standing = ends } else { self.fresh = ends }
    }
}
