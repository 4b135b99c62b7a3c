import IO

/// The pushes that a connection has submitted and that have not ended, each under a tag. Flat, and in the order in which
/// their time to be answered began: since that is the same for all, the first is always the next to be late.
struct InFlightTable {
    private struct Slot {
        var push: QueuedPush
        var since: MonotonicInstant
        /// How many bytes of its body had gone out when it was looked at last.
        var sent: UInt32 = 0
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

    /// The push whose time began first: its tag, and when that was.
    var oldest: (tag: UInt32, since: MonotonicInstant)? {
        first == Self.none ? nil : (UInt32(first), slots[Int(first)].since)
    }

    /// When the time of the push of that tag began.
    func since(_ tag: UInt32) -> MonotonicInstant { slots[Int(tag)].since }

    /// All tags, from the oldest on.
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

    /// The time of the push of that tag begins anew.
    mutating func restart(_ tag: UInt32, at now: MonotonicInstant) {
        guard tag < slots.count, slots[Int(tag)].previous != Self.empty else { return }
        unlink(Int32(tag))
        slots[Int(tag)].since = now
        slots[Int(tag)].previous = last
        slots[Int(tag)].next = Self.none
        linkLast(Int32(tag))
    }

    /// Whether more of that push's body has gone out than when this was asked last.
    mutating func hasMoved(_ tag: UInt32, to sent: UInt32) -> Bool {
        defer { slots[Int(tag)].sent = sent }
        return sent > slots[Int(tag)].sent
    }

    /// Takes the push of that tag out. Each tag is good for once: nil if it was taken before, whoever asks again.
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
