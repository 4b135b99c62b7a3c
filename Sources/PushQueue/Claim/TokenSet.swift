import ApplePush

/// Which pushes of a message were seen, so that a token named twice is sent once.
///
/// The identities are hashes already, so their bits are the place in the table. Between messages only a number changes;
/// the memory is used again.
struct TokenSet: Sendable {
    private struct Slot {
        var id = PushID(high: 0, low: 0)
        var round: UInt32 = 0
    }

    private var slots = [Slot](repeating: Slot(), count: 64)
    private var round: UInt32 = 0
    private var count = 0

    /// Begins a message: nothing was seen yet.
    mutating func begin() {
        self.count = 0
        self.round &+= 1
        if self.round == 0 {
            self = Self()
            self.round = 1
        }
    }

    /// Whether the push is new.
    mutating func insert(_ id: PushID) -> Bool {
        let mask = self.slots.count - 1
        var place = Int(truncatingIfNeeded: id.low) & mask
        while self.slots[place].round == self.round {
            if self.slots[place].id == id { return false }
            place = (place + 1) & mask
        }
        self.slots[place] = Slot(id: id, round: self.round)
        self.count += 1
        if self.count * 2 > self.slots.count { self.grow() }
        return true
    }

    private mutating func grow() {
        let seen = self.slots.filter { $0.round == self.round }
        self.slots = Array(repeating: Slot(), count: self.slots.count * 4)
        self.round = 1
        self.count = 0
        for slot in seen { _ = self.insert(slot.id) }
    }
}
