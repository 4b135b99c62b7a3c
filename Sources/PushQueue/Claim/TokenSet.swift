import ApplePush

/// The pushes of one message, so that a token that is named twice is sent once.
///
/// An open-addressed table of identities. A new message only changes the number of the round, so the memory is reused.
///
/// Nobody can choose tokens whose identities crowd into one part of the table, not even who knows the key of the identities: an
/// index is the top of a product with a factor that each process draws at random. Two identities that were chosen without it
/// share an index with a probability of at most two in the number of slots (Dietzfelbinger and others, 1997).
struct TokenSet: Sendable {
    private struct Slot {
        var id = PushID(high: 0, low: 0)
        var round: UInt32 = 0
    }

    private static let factor = UInt64.random(in: 0 ... .max) | 1

    private let factor: UInt64
    private var slots: [Slot] = []
    /// Leaves the bits of a product that are an index.
    private var shift: UInt64 = 0
    private var round: UInt32 = 0
    private var count = 0

    /// - Parameters:
    ///   - pushes: How many a message may have before the table grows.
    ///   - factor: Odd, and not known to who chooses the tokens.
    init(expecting pushes: Int = 32, factor: UInt64 = Self.factor) {
        self.factor = factor
        makeSlots(for: max(pushes, 32))
    }

    /// Begins a message.
    mutating func begin() {
        count = 0
        round &+= 1
        if round == 0 { makeSlots(for: slots.count / 2) }
    }

    /// Returns whether the push is new.
    mutating func insert(_ id: PushID) -> Bool {
        let mask = slots.count &- 1
        var index = index(of: id)
        while slots[index].round == round {
            if slots[index].id == id { return false }
            index = (index &+ 1) & mask
        }
        slots[index] = Slot(id: id, round: round)
        count += 1
        if count > slots.count / 2 { grow() }
        return true
    }

    /// Where the search for an identity begins.
    func index(of id: PushID) -> Int { Int(truncatingIfNeeded: (id.low &* factor) &>> shift) }

    private mutating func grow() {
        let seen = slots.filter { $0.round == round }
        makeSlots(for: slots.count)
        for slot in seen { _ = insert(slot.id) }
    }

    /// Empties the set. No more than half of the slots are taken.
    private mutating func makeSlots(for pushes: Int) {
        let bits = UInt64.bitWidth - (2 * pushes - 1).leadingZeroBitCount
        slots = Array(repeating: Slot(), count: 1 << bits)
        shift = UInt64(UInt64.bitWidth - bits)
        round = 1
        count = 0
    }
}
