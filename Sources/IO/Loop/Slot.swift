/// A place in a `SlotTable`. Its generation changes with each value, so a stale token is unknown and never names another value.
struct Slot: Hashable, Sendable {
    let index: UInt32
    let generation: UInt32
}

extension Slot {
    init(bits: UInt64) {
        self.init(index: UInt32(truncatingIfNeeded: bits), generation: UInt32(truncatingIfNeeded: bits >> 32))
    }

    /// The slot as the 64 bits of user data that the kernel keeps with a descriptor.
    var bits: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}
