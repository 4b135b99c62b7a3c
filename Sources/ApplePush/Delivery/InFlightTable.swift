import CarillonIO

/// The pushes in flight on a connection, each under a tag. A flat list in the order in which their time limits started: all have
/// the same limit, so the first is the next to expire.
struct InFlightTable {
    private struct Slot {
        var push: QueuedPush
        var since: MonotonicInstant
        /// Bytes of its body that had been sent at the last check.
        var sent: UInt32 = 0
        var previous: Int32
        var next: Int32
    }

    private static let none: Int32 = -1
    /// The `previous` of a free slot.
    private static let empty: Int32 = -2

    private var slots: [Slot] = []
    private var firstFree = InFlightTable.none
    private var first = InFlightTable.none
    private var last = InFlightTable.none

    private(set) var count = 0

    /// The tag of the oldest push, and when its time limit started.
    var oldest: (tag: UInt32, since: MonotonicInstant)? {
        first == Self.none ? nil : (UInt32(first), slots[Int(first)].since)
    }

    func since(_ tag: UInt32) -> MonotonicInstant { slots[Int(tag)].since }

    /// All tags, the oldest first.
    var tags: [UInt32] {
        var tags: [UInt32] = []
        var index = first
        while index != Self.none {
            tags.append(UInt32(index))
            index = slots[Int(index)].next
        }
        return tags
    }

    mutating func insert(_ push: QueuedPush, at now: MonotonicInstant) -> UInt32 {
        let slot = Slot(push: push, since: now, previous: last, next: Self.none)
        let index: Int32
        if firstFree == Self.none {
            index = Int32(slots.count)
            slots.append(slot)
        } else {
            index = firstFree
            firstFree = slots[Int(index)].next
            slots[Int(index)] = slot
        }
        linkLast(index)
        count += 1
        return UInt32(index)
    }

    /// Restarts the time limit of this push.
    mutating func restart(_ tag: UInt32, at now: MonotonicInstant) {
        guard tag < slots.count, slots[Int(tag)].previous != Self.empty else { return }
        unlink(Int32(tag))
        slots[Int(tag)].since = now
        slots[Int(tag)].previous = last
        slots[Int(tag)].next = Self.none
        linkLast(Int32(tag))
    }

    /// Whether more of this push's body has been sent since the last check.
    mutating func hasMoved(_ tag: UInt32, to sent: UInt32) -> Bool {
        defer { slots[Int(tag)].sent = sent }
        return sent > slots[Int(tag)].sent
    }

    /// Removes the push with this tag. Nil if it has already been removed.
    mutating func remove(_ tag: UInt32) -> QueuedPush? {
        guard tag < slots.count else { return nil }
        let index = Int32(tag)
        let slot = slots[Int(tag)]
        if slot.previous == Self.empty { return nil }
        unlink(index)
        slots[Int(tag)].next = firstFree
        slots[Int(tag)].previous = Self.empty
        firstFree = index
        count -= 1
        return slot.push
    }

    private mutating func linkLast(_ index: Int32) {
        if last == Self.none { first = index } else { slots[Int(last)].next = index }
        last = index
    }

    private mutating func unlink(_ index: Int32) {
        let slot = slots[Int(index)]
        if slot.previous == Self.none {
            first = slot.next
        } else {
            slots[Int(slot.previous)].next = slot.next
        }
        if slot.next == Self.none {
            last = slot.previous
        } else {
            slots[Int(slot.next)].previous = slot.previous
        }
    }
}
