/// The rows that a `COPY … FROM STDIN (FORMAT binary)` reads: each is begun, and then given all its columns in order.
package struct CopyRows: Sendable {
    package private(set) var count = 0
    private var data: [UInt8]

    /// - Parameter capacity: how many bytes to make room for.
    package init(capacity: Int = 0) {
        self.data = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
        self.data.reserveCapacity(capacity)
        self.data.append(bigEndian: Int32(0))  // no flags
        self.data.append(bigEndian: Int32(0))  // no extension of the header
    }

    package mutating func begin(columns: Int16) {
        self.count += 1
        self.data.append(bigEndian: columns)
    }

    package mutating func append(_ value: Int32) {
        self.data.append(bigEndian: Int32(4))
        self.data.append(bigEndian: value)
    }

    /// Microseconds since 1970.
    package mutating func append(timestamp microseconds: Int64?) {
        guard let microseconds else { return self.appendNull() }
        self.data.append(bigEndian: Int32(8))
        self.data.append(bigEndian: Timestamp.fromUnix(microseconds))
    }

    /// The bytes of a text, which must be UTF-8 without a NUL.
    package mutating func append(text bytes: ArraySlice<UInt8>?) {
        guard let bytes else { return self.appendNull() }
        self.data.append(bigEndian: Int32(bytes.count))
        self.data.append(contentsOf: bytes)
    }

    private mutating func appendNull() {
        self.data.append(bigEndian: Int32(-1))
    }

    /// All that is sent, with the mark of its end.
    consuming func bytes() -> [UInt8] {
        self.data.append(bigEndian: Int16(-1))
        return self.data
    }
}
