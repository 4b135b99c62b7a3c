extension RawSpan {
    /// The byte at that offset.
    @inlinable package subscript(byte offset: Int) -> UInt8 {
        // Every bit pattern is a UInt8 and the load itself checks the bounds, so nothing here can go wrong.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

extension [UInt8] {
    /// Appends bytes that live elsewhere, in one copy.
    @inlinable package mutating func append(copying bytes: RawSpan) {
        // To an empty array, nothing would be written where all empty arrays of the program have their count.
        guard bytes.byteCount > 0 else { return }
        append(addingCapacity: bytes.byteCount) { output in
            for offset in bytes.byteOffsets { output.append(bytes[byte: offset]) }
        }
    }
}
