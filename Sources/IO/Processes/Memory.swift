import CarillonCLinux

/// What the C library does with memory that is freed.
package enum Memory {
    /// A large block then has pages of its own, which go back to the system when it is freed. By default, the C library raises this
    /// threshold when such a block is freed, and the arrays of claims leave holes in its heap.
    package static func mapLargeBlocks() { mallopt(M_MMAP_THRESHOLD, 256 << 10) }
}
