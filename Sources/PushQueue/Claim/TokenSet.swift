import ApplePush

/// The pushes of one message, so that a token that is named twice is sent once.
///
/// An open-addressed table, since the identities are hashes. A new message only changes the number of the round, so the memory
/// is reused.
struct TokenSet: Sendable {
    private struct Slot {
        var id = PushID(high: 0, low: 0)
        var round: UInt32 = 0
    }

    private var slots = [Slot](repeating: Slot(), count: 64)
    private var round: UInt32 = 0
    private var count = 0

    /// Begins a message.
    mutating func begin() {
        count = 0
        round &+= 1
        if round == 0 {
            self = Self()
            round = 1
        }
    }

    /// Returns whether the push is new.
    mutating func insert(_ id: PushID) -> Bool {
        let mask = slots.count - 1
        var place = Int(truncatingIfNeeded: id.low) & mask
        while slots[place].round == round {
            if slots[place].id == id { return false }
            place = (place + 1) & mask
        }
        slots[place] = Slot(id: id, round: round)
        count += 1
        if count * 2 > slots.count { grow() }
        return true
    }

    private mutating func grow() {
        let seen = slots.filter { $0.round == round }
        slots = Array(repeating: Slot(), count: slots.count * 4)
        round = 1
        count = 0
        for slot in seen { _ = insert(slot.id) }
    }
}
