/// What varies from request to request, by slot, until the request's header is written: the end of its path, and the value of its
/// varying field.
///
/// Every slot has the same room, as much as the longest has needed, so that a request allocates nothing.
struct VaryingTexts: ~Copyable {
    /// The most bytes of either. Apple has announced tokens of 100 bytes (200 digits) and sets no limit.
    static let longest = 1_024

    /// Two lengths precede the bytes.
    private static let lengths = 2 * MemoryLayout<UInt16>.size

    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The bytes of each slot: enough for a token of 64 digits and a UUID.
    private var room = 112

    deinit { memory.deallocate() }

    mutating func keep(_ path: UnsafeRawBufferPointer, _ varying: UnsafeRawBufferPointer, slot: Int) {
        precondition(path.count <= Self.longest && varying.count <= Self.longest)
        let needed = Self.lengths + path.count + varying.count
        if needed > room || (slot + 1) * room > memory.count { grow(to: needed, slot: slot) }
        let place = UnsafeMutableRawBufferPointer(rebasing: memory[slot * room..<(slot + 1) * room])
        place.storeBytes(of: UInt16(path.count), as: UInt16.self)
        place.storeBytes(of: UInt16(varying.count), toByteOffset: 2, as: UInt16.self)
        UnsafeMutableRawBufferPointer(rebasing: place[Self.lengths...]).copyMemory(from: path)
        UnsafeMutableRawBufferPointer(rebasing: place[(Self.lengths + path.count)...]).copyMemory(from: varying)
    }

    /// The texts of a slot. They are valid until the next ``keep(_:_:slot:)``.
    func texts(slot: Int) -> (path: UnsafeRawBufferPointer, varying: UnsafeRawBufferPointer) {
        let place = UnsafeRawBufferPointer(rebasing: memory[slot * room..<(slot + 1) * room])
        let path = Self.lengths + Int(place.load(as: UInt16.self))
        let varying = path + Int(place.load(fromByteOffset: 2, as: UInt16.self))
        return (
            UnsafeRawBufferPointer(rebasing: place[Self.lengths..<path]),
            UnsafeRawBufferPointer(rebasing: place[path..<varying])
        )
    }

    private mutating func grow(to needed: Int, slot: Int) {
        let slots = memory.count / room
        // A multiple of 16 keeps the lengths aligned.
        let newRoom = needed > room ? (max(needed, 2 * room) + 15) & ~15 : room
        let newSlots = slot < slots ? slots : max(2 * slots, slot + 1, 16)
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: newSlots * newRoom, alignment: 16)
        grown.initializeMemory(as: UInt8.self, repeating: 0)
        for slot in 0..<slots {
            UnsafeMutableRawBufferPointer(rebasing: grown[(slot * newRoom)...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[slot * room..<(slot + 1) * room]))
        }
        memory.deallocate()
        (memory, room) = (grown, newRoom)
    }
}
