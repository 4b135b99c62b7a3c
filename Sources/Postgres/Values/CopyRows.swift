/// The rows for a `COPY … FROM STDIN (FORMAT binary)`. Begin each row, then append all its columns in order.
package struct CopyRows: Sendable {
    package private(set) var count = 0
    private var data: [UInt8]

    /// - Parameter capacity: how many bytes to make room for.
    package init(capacity: Int = 0) {
        data = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
        data.reserveCapacity(capacity)
        data.append(bigEndian: Int32(0))  // no flags
        data.append(bigEndian: Int32(0))  // no header extension
    }

    package mutating func begin(columns: Int16) {
        count += 1
        data.append(bigEndian: columns)
    }

    package mutating func append(_ value: Int32) {
        data.append(bigEndian: Int32(4))
        data.append(bigEndian: value)
    }

    package mutating func append(_ value: Int64?) {
        guard let value else { return appendNull() }
        data.append(bigEndian: Int32(8))
        data.append(bigEndian: value)
    }

    /// Microseconds since 1970.
    package mutating func append(timestamp microseconds: Int64?) {
        guard let microseconds else { return appendNull() }
        data.append(bigEndian: Int32(8))
        data.append(bigEndian: Moment.fromUnix(microseconds))
    }

    /// The bytes of a text, which must be UTF-8 without a NUL.
    package mutating func append(text bytes: ArraySlice<UInt8>?) {
        guard let bytes else { return appendNull() }
        data.append(bigEndian: Int32(bytes.count))
        data.append(contentsOf: bytes)
    }

    package mutating func append(_ text: String?) { append(text: text.map { Array($0.utf8)[...] }) }

    private mutating func appendNull() { data.append(bigEndian: Int32(-1)) }

    /// All bytes to send, including the end marker.
    consuming func bytes() -> [UInt8] {
        data.append(bigEndian: Int16(-1))
        return data
    }
}

/// Writes PostgreSQL's binary values, which are big-endian.
extension Array where Element == UInt8 {
    @inline(__always)
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    mutating func append(copying span: RawSpan) { span.withUnsafeBytes { append(contentsOf: $0) } }
}
