import CarillonCNGHTTP2

/// The memory of a session: blocks of a few sizes, which are reused.
///
/// nghttp2 allocates about six small blocks per request, and hundreds before it frees the first. A general-purpose allocator is
/// slow at that; a single-threaded one is not. The memory is freed with the session.
struct MemoryPool: ~Copyable {
    /// Each block is preceded by its capacity, in sixteen bytes so that blocks stay aligned.
    private static let headerSize = 16
    /// Sizes are multiples of this, up to `classes` of them; larger blocks come from the system.
    private static let step = 64
    private static let classes = 16
    /// The first slab is small: most connections have little to do. Each further one is twice as large, up to a limit.
    private static let smallestSlab = 8 << 10
    private static let largestSlab = 64 << 10

    /// The first free block of each size. A free block begins with the address of the next one.
    private var free = InlineArray<17, UnsafeMutableRawPointer?>(repeating: nil)
    private var slabs: [UnsafeMutableRawBufferPointer] = []
    /// The unused rest of the last slab.
    private var rest = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    deinit {
        for slab in slabs { slab.deallocate() }
    }

    mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        let index = max(1, (count + Self.step - 1) / Self.step)
        guard index <= Self.classes else { return Self.allocateLarge(count) }
        if let block = free[index] {
            free[index] = block.load(as: UnsafeMutableRawPointer?.self)
            return block
        }
        return carve(index)
    }

    mutating func release(_ block: UnsafeMutableRawPointer?) {
        guard let block else { return }
        let capacity = Self.capacity(of: block)
        guard capacity <= Self.classes * Self.step else { return (block - Self.headerSize).deallocate() }
        let index = capacity / Self.step
        block.storeBytes(of: free[index], as: UnsafeMutableRawPointer?.self)
        free[index] = block
    }

    mutating func reallocate(_ block: UnsafeMutableRawPointer?, _ count: Int) -> UnsafeMutableRawPointer {
        guard let block else { return allocate(count) }
        let capacity = Self.capacity(of: block)
        if count <= capacity { return block }
        let larger = allocate(count)
        larger.copyMemory(from: block, byteCount: capacity)
        release(block)
        return larger
    }

    private static func capacity(of block: UnsafeMutableRawPointer) -> Int {
        (block - headerSize).load(as: Int.self)
    }

    private static func allocateLarge(_ count: Int) -> UnsafeMutableRawPointer {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: headerSize + count, alignment: 16)
        memory.storeBytes(of: count, as: Int.self)
        return memory + headerSize
    }

    private mutating func carve(_ index: Int) -> UnsafeMutableRawPointer {
        let capacity = index * Self.step
        let size = Self.headerSize + capacity
        if rest.count < size {
            let slab = min(Self.smallestSlab << min(slabs.count, 8), Self.largestSlab)
            rest = .allocate(byteCount: slab, alignment: 16)
            slabs.append(rest)
        }
        let memory = UnsafeMutableRawBufferPointer(rebasing: rest[..<size])
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[size...])
        memory.storeBytes(of: capacity, as: Int.self)
        return memory.baseAddress! + Self.headerSize
    }
}

extension MemoryPool {
    /// The functions through which nghttp2 uses the pool at `address`.
    static func functions(_ address: UnsafeMutablePointer<MemoryPool>) -> nghttp2_mem {
        nghttp2_mem(
            mem_user_data: address,
            malloc: { MemoryPool.at($1).pointee.allocate($0) },
            free: { MemoryPool.at($1).pointee.release($0) },
            calloc: { count, size, context in
                let block = MemoryPool.at(context).pointee.allocate(count * size)
                block.initializeMemory(as: UInt8.self, repeating: 0, count: count * size)
                return block
            },
            realloc: { MemoryPool.at($2).pointee.reallocate($0, $1) }
        )
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<MemoryPool> {
        context!.assumingMemoryBound(to: MemoryPool.self)
    }
}
