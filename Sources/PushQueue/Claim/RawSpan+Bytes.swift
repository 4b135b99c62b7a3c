import ApplePush

extension RawSpan {
    func allSatisfy(_ condition: (UInt8) -> Bool) -> Bool {
        for offset in byteOffsets where !condition(self[byte: offset]) { return false }
        return true
    }
}

extension [UInt8] {
    /// Hands the bytes over in place.
    func withSpan<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        // A span of bytes has no padding that could be read uninitialised, which is what makes `bytes` unsafe.
        body(unsafe span.bytes.extracting(range))
    }
}
