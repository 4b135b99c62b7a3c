extension RawSpan {
    /// The byte at that offset.
    subscript(byte offset: Int) -> UInt8 {
        // Every bit pattern is a UInt8 and the load itself checks the bounds, so nothing here can go wrong.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    func allSatisfy(_ condition: (UInt8) -> Bool) -> Bool {
        for offset in byteOffsets where !condition(self[byte: offset]) { return false }
        return true
    }
}

extension [UInt8] {
    mutating func append(copying bytes: RawSpan) {
        // Without this, the empty array, which all of the program share, would be written to.
        guard bytes.byteCount > 0 else { return }
        append(addingCapacity: bytes.byteCount) { output in
            for offset in bytes.byteOffsets { output.append(bytes[byte: offset]) }
        }
    }
}

extension Array where Element == UInt8 {
    /// Hands the bytes over where they are.
    func withSpan<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        // A span of bytes has no padding that could be read uninitialised, which is what makes `bytes` unsafe.
        body(unsafe span.bytes.extracting(range))
    }
}
