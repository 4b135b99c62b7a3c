/// Blocks of bytes at fixed addresses, read by several streams. A block is freed when its holder and its last reader have released
/// it.
///
/// nghttp2 reads bodies and header fields long after submission, so they cannot be in Swift arrays, which move.
struct SharedMemory: ~Copyable {
    /// Identifies a block. A key that outlives its block is unknown.
    struct Key: Hashable, Sendable {
        let index: UInt32
        let generation: UInt32
    }

    struct Block {
        var memory: UnsafeMutableRawPointer?
        var count: Int = 0
        /// How many bytes have been read, if the block has only one reader.
        var read: Int = 0
        var readers: Int32 = 0
        var isHeld = false
        var generation: UInt32 = 0

        /// Copies bytes from `start` on, and returns how many it copied.
        func copy(from start: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
            let length = min(buffer.count, count - start)
            if length > 0, let memory {
                buffer.copyMemory(from: UnsafeRawBufferPointer(start: memory + start, count: length))
            }
            return length
        }
    }

    private var blocks: [Block] = []
    private var free: [UInt32] = []

    deinit {
        for block in blocks { block.memory?.deallocate() }
    }

    var count: Int { blocks.count - free.count }

    /// A new uninitialized block, held by the caller, who defines what `count` counts.
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

    /// A new block with these bytes, held by the caller.
    mutating func allocate(copying bytes: RawSpan) -> Key {
        let key = allocate(byteCount: bytes.byteCount, count: bytes.byteCount)
        bytes.withUnsafeBytes { source in
            if let address = source.baseAddress {
                blocks[Int(key.index)].memory?.copyMemory(from: address, byteCount: source.count)
            }
        }
        return key
    }

    /// The block with that key, if its holder has not released it.
    subscript(key: Key) -> Block? {
        guard key.index < blocks.count else { return nil }
        let block = blocks[Int(key.index)]
        return block.generation == key.generation && block.isHeld ? block : nil
    }

    /// The block of a reader.
    subscript(index: UInt32) -> Block { blocks[Int(index)] }

    mutating func addReader(_ index: UInt32) { blocks[Int(index)].readers += 1 }

    mutating func removeReader(_ index: UInt32) {
        blocks[Int(index)].readers -= 1
        freeIfUnused(Int(index))
    }

    mutating func release(_ key: Key) {
        if self[key] != nil { release(key.index) }
    }

    /// Releases a block that is known to be held.
    mutating func release(_ index: UInt32) {
        blocks[Int(index)].isHeld = false
        freeIfUnused(Int(index))
    }

    /// Copies bytes that the only reader has not read yet. Returns how many, and whether they are the last.
    mutating func read(_ index: UInt32, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let block = blocks[Int(index)]
        let count = block.copy(from: block.read, to: buffer)
        blocks[Int(index)].read += count
        return (count, block.read + count == block.count)
    }

    private mutating func freeIfUnused(_ index: Int) {
        guard !blocks[index].isHeld, blocks[index].readers == 0 else { return }
        blocks[index].memory?.deallocate()
        blocks[index].memory = nil
        blocks[index].generation &+= 1
        free.append(UInt32(index))
    }
}
