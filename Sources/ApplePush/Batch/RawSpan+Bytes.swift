extension RawSpan {
    @inlinable
    package subscript(byte offset: Int) -> UInt8 {
        // Safe: the load checks the bounds, and every bit pattern is a UInt8.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Eight bytes as a number, the first of them the least significant.
    @inlinable
    package func word(at offset: Int) -> UInt64 {
        // Safe: the load checks the bounds, and every bit pattern is a UInt64.
        UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inlinable
    package func allSatisfy(_ condition: (UInt8) -> Bool) -> Bool {
        for offset in byteOffsets where !condition(self[byte: offset]) { return false }
        return true
    }
}

extension [UInt8] {
    @inlinable
    package mutating func append(copying bytes: RawSpan) {
        // Do not write to an empty array: all empty arrays of the program share one count.
        guard bytes.byteCount > 0 else { return }
        // Safe: bytes have no padding, and the span stays alive through the call.
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Passes the bytes in the range to the body.
    @inlinable
    package func withSpan<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        // Safe: bytes have no padding, and the array stays alive and unchanged through the call.
        body(unsafe span.bytes.extracting(range))
    }
}
