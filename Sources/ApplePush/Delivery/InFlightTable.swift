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
        self.first == Self.none ? nil : (UInt32(self.first), self.slots[Int(self.first)].since)
    }

    /// When the time of the push of that tag began.
    func since(_ tag: UInt32) -> MonotonicInstant { self.slots[Int(tag)].since }

    /// All tags, from the oldest on.
    var tags: [UInt32] {
        var tags: [UInt32] = []
        var index = self.first
        while index != Self.none {
            tags.append(UInt32(index))
            index = self.slots[Int(index)].next
        }
        return tags
    }

    mutating func insert(_ push: QueuedPush, at now: MonotonicInstant) -> UInt32 {
        let slot = Slot(push: push, since: now, previous: self.last, next: Self.none)
        let index: Int32
        if self.firstFree == Self.none {
            index = Int32(self.slots.count)
            self.slots.append(slot)
        } else {
            index = self.firstFree
            self.firstFree = self.slots[Int(index)].next
            self.slots[Int(index)] = slot
        }
        self.linkLast(index)
        self.count += 1
        return UInt32(index)
    }

    /// The time of the push of that tag begins anew.
    mutating func restart(_ tag: UInt32, at now: MonotonicInstant) {
        guard tag < self.slots.count, self.slots[Int(tag)].previous != Self.empty else { return }
        self.unlink(Int32(tag))
        self.slots[Int(tag)].since = now
        self.slots[Int(tag)].previous = self.last
        self.slots[Int(tag)].next = Self.none
        self.linkLast(Int32(tag))
    }

    /// Whether more of that push's body has gone out than when this was asked last.
    mutating func hasMoved(_ tag: UInt32, to sent: UInt32) -> Bool {
        defer { self.slots[Int(tag)].sent = sent }
        return sent > self.slots[Int(tag)].sent
    }

    /// Takes the push of that tag out. Each tag is good for once: nil if it was taken before, whoever asks again.
    mutating func remove(_ tag: UInt32) -> QueuedPush? {
        guard tag < self.slots.count else { return nil }
        let index = Int32(tag)
        let slot = self.slots[Int(tag)]
        if slot.previous == Self.empty { return nil }
        self.unlink(index)
        self.slots[Int(tag)].next = self.firstFree
        self.slots[Int(tag)].previous = Self.empty
        self.firstFree = index
        self.count -= 1
        return slot.push
    }

    private mutating func linkLast(_ index: Int32) {
        if self.last == Self.none { self.first = index } else { self.slots[Int(self.last)].next = index }
        self.last = index
    }

    private mutating func unlink(_ index: Int32) {
        let slot = self.slots[Int(index)]
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
    }
}
