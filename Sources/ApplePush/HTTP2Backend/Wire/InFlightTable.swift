import IO

/// The pushes that a connection has submitted and that have not ended, each under a tag. Flat, and in the order of
/// their submission: since all have the same time to be answered, the first is always the next to be late.
struct InFlightTable {
    /// Which push of which delivery it is.
    struct Push: Equatable {
        let delivery: Int32
        let position: Int32
    }

    private struct Slot {
        var push: Push
        var submitted: MonotonicInstant
        var previous: Int32
        var next: Int32
    }

    private static let none: Int32 = -1
    /// What a slot has before it that no push is in.
    private static let empty: Int32 = -2

    private var slots: [Slot] = []
    private var firstFree = InFlightTable.none
    private var first = InFlightTable.none
    private var last = InFlightTable.none

    /// How many pushes are in flight.
    private(set) var count = 0

    /// The push that has been in flight longest: its tag, and since when.
    var oldest: (tag: UInt32, submitted: MonotonicInstant)? {
        self.first == Self.none ? nil : (UInt32(self.first), self.slots[Int(self.first)].submitted)
    }

    /// When the push of that tag was submitted.
    func submitted(_ tag: UInt32) -> MonotonicInstant { self.slots[Int(tag)].submitted }

    mutating func insert(_ push: Push, at now: MonotonicInstant) -> UInt32 {
        let slot = Slot(push: push, submitted: now, previous: self.last, next: Self.none)
        let index: Int32
        if self.firstFree == Self.none {
            index = Int32(self.slots.count)
            self.slots.append(slot)
        } else {
            index = self.firstFree
            self.firstFree = self.slots[Int(index)].next
            self.slots[Int(index)] = slot
        }
        if self.last == Self.none { self.first = index } else { self.slots[Int(self.last)].next = index }
        self.last = index
        self.count += 1
        return UInt32(index)
    }

    /// Takes the push of that tag out. Each tag is good for once: nil if it was taken before, whoever asks again.
    mutating func remove(_ tag: UInt32) -> Push? {
        guard tag < self.slots.count else { return nil }
        let index = Int32(tag)
        let slot = self.slots[Int(tag)]
        if slot.previous == Self.empty { return nil }
        if slot.previous == Self.none {
            self.first = slot.next
        } else {
            self.slots[Int(slot.previous)].next = slot.next
        }
        if slot.next == Self.none {
            self.last = slot.previous
        } else {
            self.slots[Int(slot.next)].previous = slot.previous
        }
        self.slots[Int(tag)].next = self.firstFree
        self.slots[Int(tag)].previous = Self.empty
        self.firstFree = index
        self.count -= 1
        return slot.push
    }
}
