/// An array being built to be bound as one parameter, such as a column for `UNNEST`: flat bytes, no object an element.
///
/// Keep one a column, append row by row, bind them all, `removeAll`, and start again in the same memory.
package struct PostgresArray: Sendable {
    package let type: PostgresType
    package private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    package init(of type: PostgresType) {
        precondition(type.arrayID != 0)
        self.type = type
    }

    package var isEmpty: Bool { self.count == 0 }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        self.count = 0
        self.hasNull = false
        self.elements.removeAll(keepingCapacity: keepingCapacity)
    }

    package mutating func appendNull() {
        self.count += 1
        self.hasNull = true
        self.elements.append(bigEndian: Int32(-1))
    }

    package mutating func append(_ value: Bool) {
        self.begin(.bool, length: 1)
        self.elements.append(value ? 1 : 0)
    }

    package mutating func append(_ value: Int16) {
        self.begin(.int2, length: 2)
        self.elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Int32) {
        self.begin(.int4, length: 4)
        self.elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Int64) {
        self.begin(.int8, length: 8)
        self.elements.append(bigEndian: value)
    }

    package mutating func append(_ value: Double) {
        self.begin(.float8, length: 8)
        self.elements.append(bigEndian: value.bitPattern)
    }

    /// Microseconds since 1970.
    package mutating func append(timestamp microseconds: Int64) {
        self.begin(.timestamptz, length: 8)
        self.elements.append(bigEndian: Timestamp.fromUnix(microseconds))
    }

    package mutating func append(uuid value: (high: UInt64, low: UInt64)) {
        self.begin(.uuid, length: 16)
        self.elements.append(bigEndian: value.high)
        self.elements.append(bigEndian: value.low)
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ value: String) {
        var value = value
        value.withUTF8 { self.append(UnsafeRawBufferPointer($0).bytes) }
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ bytes: RawSpan) {
        precondition(self.type.takesBytes, "only text, json, jsonb and bytea are appended as bytes")
        let version = self.type == .jsonb ? 1 : 0
        self.begin(self.type, length: Int32(bytes.byteCount + version))
        if version > 0 { self.elements.append(1) }
        self.elements.append(copying: bytes)
    }

    private mutating func begin(_ type: PostgresType, length: Int32) {
        precondition(type == self.type, "the array is of another type")
        self.count += 1
        self.elements.append(bigEndian: length)
    }

    /// The binary format: dimensions, whether a null is among the elements, the elements' type, then of the one
    /// dimension the length and the lower bound, then the elements, each after its length.
    func write(into bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + 20 + self.elements.count)
        bytes.append(bigEndian: Int32(self.count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(self.hasNull ? 1 : 0))
        bytes.append(bigEndian: self.type.id)
        guard self.count > 0 else { return }
        bytes.append(bigEndian: Int32(self.count))
        bytes.append(bigEndian: Int32(1))
        bytes.append(contentsOf: self.elements)
    }
}

extension PostgresArray {
    package init(_ values: some Sequence<Int64>) {
        self.init(of: .int8)
        for value in values { self.append(value) }
    }

    package init(_ values: some Sequence<Int32>) {
        self.init(of: .int4)
        for value in values { self.append(value) }
    }

    package init(_ values: some Sequence<Int16>) {
        self.init(of: .int2)
        for value in values { self.append(value) }
    }

    package init(_ values: some Sequence<String>) {
        self.init(of: .text)
        for value in values { self.append(value) }
    }
}
