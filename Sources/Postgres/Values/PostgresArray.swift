/// An array that is bound as one parameter, such as a column for `UNNEST`: flat bytes, no object for an element.
package struct PostgresArray: Sendable {
    package let type: PostgresType
    package private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    package init(of type: PostgresType) {
        precondition(type.arrayID != 0)
        self.type = type
    }

    package var isEmpty: Bool { count == 0 }

    package mutating func appendNull() {
        count += 1
        hasNull = true
        elements.append(bigEndian: Int32(-1))
    }

    package mutating func append(_ value: Bool) {
        begin(.bool, length: 1)
        elements.append(value ? 1 : 0)
    }

    package mutating func append(_ value: Int16) {
        begin(.int2, length: 2)
        elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Int32) {
        begin(.int4, length: 4)
        elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Int64) {
        begin(.int8, length: 8)
        elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Double) {
        begin(.float8, length: 8)
        elements.append(bigEndian: value.bitPattern)
    }

    /// Microseconds since 1970.
    package mutating func append(timestamp microseconds: Int64) {
        begin(.timestamptz, length: 8)
        elements.append(bigEndian: Timestamp.fromUnix(microseconds))
    }

    package mutating func append(uuid value: (high: UInt64, low: UInt64)) {
        begin(.uuid, length: 16)
        elements.append(bigEndian: value.high)
        elements.append(bigEndian: value.low)
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ value: String) {
        var value = value
        value.withUTF8 { append(UnsafeRawBufferPointer($0).bytes) }
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ bytes: RawSpan) {
        precondition(type.takesBytes, "only text, json, jsonb and bytea are appended as bytes")
        let version = type == .jsonb ? 1 : 0
        begin(type, length: Int32(bytes.byteCount + version))
        if version > 0 { elements.append(1) }
        elements.append(copying: bytes)
    }

    private mutating func begin(_ type: PostgresType, length: Int32) {
        precondition(type == self.type, "the array is of another type")
        count += 1
        elements.append(bigEndian: length)
    }

    /// The binary format: the number of dimensions, whether there are nulls, the elements' type, the length and lower bound of
    /// the one dimension, then the elements, each after its length.
    func write(into bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + 20 + elements.count)
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: type.id)
        guard count > 0 else { return }
        bytes.append(bigEndian: Int32(count))
        bytes.append(bigEndian: Int32(1))
        bytes.append(contentsOf: elements)
    }
}

extension PostgresArray {
    package init(_ values: some Sequence<Int64>) {
        self.init(of: .int8)
        for value in values { append(value) }
    }

    package init(_ values: some Sequence<Int32>) {
        self.init(of: .int4)
        for value in values { append(value) }
    }

    package init(_ values: some Sequence<Int16>) {
        self.init(of: .int2)
        for value in values { append(value) }
    }

    package init(_ values: some Sequence<String>) {
        self.init(of: .text)
        for value in values { append(value) }
    }
}
