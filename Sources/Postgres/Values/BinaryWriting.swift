/// Writes PostgreSQL's binary values, which are big-endian.
extension Array where Element == UInt8 {
    @inline(__always)
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    mutating func append(copying span: RawSpan) {
        span.withUnsafeBytes { append(contentsOf: $0) }
    }
}
