/// Blocks of bytes with a fixed address that several streams read from, each freed when its holder and its last
/// reader have let go.
///
/// The protocol engine reads bodies and header fields long after they were submitted, so they live outside of
/// Swift's arrays, which move.
struct SharedMemory: ~Copyable {
    /// Names a block; a name outlives its block without harm.
    struct Key: Hashable, Sendable {
        let index: UInt32
        let generation: UInt32
    }

    struct Block {
        var memory: UnsafeMutableRawPointer?
        var count: Int = 0
        /// How much of it was read, where it has one reader only.
        var read: Int = 0
        var readers: Int32 = 0
        var isHeld = false
        var generation: UInt32 = 0
    }

    private var blocks: [Block] = []
    private var free: [UInt32] = []

    deinit {
        for block in blocks { block.memory?.deallocate() }
    }

    /// How many blocks there are now.
    var count: Int { blocks.count - free.count }

    /// A new block, held by the caller, its bytes not yet written; `count` is the caller's to interpret.
    mutating func allocate(byteCount: Int, count: Int) -> Key {
        let index = free.popLast() ?? UInt32(blocks.count)
        if index == blocks.count { blocks.append(Block()) }
        let generation = blocks[Int(index)].generation
        blocks[Int(index)] = Block(
            memory: .allocate(byteCount: max(byteCount, 1), alignment: 16),
            count: count,
            isHeld: true,
            generation: generation
        )
        return Key(index: index, generation: generation)
    }

    /// A new block, held by the caller, with these bytes.
    mutating func allocate(copying bytes: RawSpan) -> Key {
        let key = allocate(byteCount: bytes.byteCount, count: bytes.byteCount)
        bytes.withUnsafeBytes { source in
            if let address = source.baseAddress {
                blocks[Int(key.index)].memory?.copyMemory(from: address, byteCount: source.count)
            }
        }
        return key
    }

    /// The block of that name, if its holder has not let go.
    subscript(key: Key) -> Block? {
        guard key.index < blocks.count else { return nil }
        let block = blocks[Int(key.index)]
        return block.generation == key.generation && block.isHeld ? block : nil
    }

    /// The block at a place that a reader counted itself into.
    subscript(index: UInt32) -> Block { blocks[Int(index)] }

    mutating func addReader(_ index: UInt32) {
        blocks[Int(index)].readers += 1
    }

    mutating func removeReader(_ index: UInt32) {
        blocks[Int(index)].readers -= 1
        freeIfUnused(Int(index))
    }

    /// The holder lets go.
    mutating func release(_ key: Key) {
        guard self[key] != nil else { return }
        blocks[Int(key.index)].isHeld = false
        freeIfUnused(Int(key.index))
    }

    /// The holder, who is the only reader too, lets go of the block at this place.
    mutating func release(_ index: UInt32) {
        blocks[Int(index)].isHeld = false
        freeIfUnused(Int(index))
    }

    /// Copies what comes next for the only reader, and returns how much that is.
    mutating func read(_ index: UInt32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let block = blocks[Int(index)]
        let count = min(buffer.count, block.count - block.read)
        if count > 0, let memory = block.memory {
            buffer.copyMemory(from: UnsafeRawBufferPointer(start: memory + block.read, count: count))
        }
        blocks[Int(index)].read += count
        return count
    }

    /// The only reader has had everything.
    func isRead(_ index: UInt32) -> Bool {
        blocks[Int(index)].read == blocks[Int(index)].count
    }

    private mutating func freeIfUnused(_ index: Int) {
        guard !blocks[index].isHeld, blocks[index].readers == 0 else { return }
        blocks[index].memory?.deallocate()
        blocks[index].memory = nil
        blocks[index].generation &+= 1
        free.append(UInt32(index))
    }
}

/// A body that requests of a session share.
package struct BodyID: Hashable, Sendable {
    let key: SharedMemory.Key
}

/// A header block that requests of a session share.
package struct FieldsID: Hashable, Sendable {
    let key: SharedMemory.Key
}
