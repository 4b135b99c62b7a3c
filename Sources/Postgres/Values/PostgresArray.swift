/// An array that is bound as one parameter, such as a column for `UNNEST`: flat bytes, without an object for each element.
package struct PostgresArray: Sendable {
    package let type: PostgresType
    package private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    package init(of type: PostgresType) {
        precondition(type.arrayID != 0)
        self.type = type
    }

    package init<Value: PostgresValue>(_ values: some Sequence<Value>) {
        self.init(of: Value.type)
        for value in values { append(value) }
    }

    package init<Value: PostgresValue>(_ values: some Sequence<Value?>) {
        self.init(of: Value.type)
        for value in values { append(value) }
    }

    /// An array of `int8`, written at once.
    package init(integers: [Int64]) { self.init(of: .int8, integers.count) { integers[$0] } }

    /// An array of `timestamptz`, in microseconds since 1970, written at once.
    package init(times: [Int64]) { self.init(of: .timestamptz, times.count) { Moment.fromUnix(times[$0]) } }

    @inline(__always)
    private init(of type: PostgresType, _ count: Int, _ value: (Int) -> Int64) {
        self.init(of: type)
        // Swift would write to the empty array that all threads share.
        guard count > 0 else { return }
        self.count = count
        elements = Array(unsafeUninitializedCapacity: 12 * count) { buffer, byteCount in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            for index in 0..<count {
                bytes.storeBytes(of: Int32(8).bigEndian, toByteOffset: 12 * index, as: Int32.self)
                bytes.storeBytes(of: value(index).bigEndian, toByteOffset: 12 * index + 4, as: Int64.self)
            }
            byteCount = 12 * count
        }
    }

    package mutating func appendNull() {
        count += 1
        hasNull = true
        elements.append(bigEndian: Int32(-1))
    }

    package mutating func append<Value: PostgresValue>(_ value: Value) {
        precondition(Value.type == type, "the array is of another type")
        appendElement { value.write(to: &$0) }
    }

    package mutating func append(_ value: (some PostgresValue)?) {
        if let value { append(value) } else { appendNull() }
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ value: String) {
        var value = value
        value.withUTF8 { append(UnsafeRawBufferPointer($0).bytes) }
    }

    /// An element of `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ bytes: RawSpan) {
        precondition(type.takesBytes, "only text, json, jsonb and bytea are appended as bytes")
        let hasVersion = type == .jsonb
        appendElement { elements in
            if hasVersion { elements.append(1) }
            elements.append(copying: bytes)
        }
    }

    /// Appends the length of the element and what the body writes.
    @inline(__always)
    private mutating func appendElement(_ write: (inout [UInt8]) -> Void) {
        count += 1
        let start = elements.count
        elements.append(bigEndian: Int32(0))
        write(&elements)
        let length = Int32(elements.count - start - 4).bigEndian
        elements.withUnsafeMutableBytes { $0.storeBytes(of: length, toByteOffset: start, as: Int32.self) }
    }
}

extension PostgresArray: Parameter {
    package var typeID: UInt32 { type.arrayID }

    /// The binary format: the number of dimensions, whether there are nulls, the element type, the length and lower bound of the
    /// only dimension, then the elements, each preceded by its length.
    package func writeIfPresent(to bytes: inout [UInt8]) -> Bool {
        bytes.reserveCapacity(bytes.count + 20 + elements.count)
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: type.id)
        guard count > 0 else { return true }
        bytes.append(bigEndian: Int32(count))
        bytes.append(bigEndian: Int32(1))
        bytes.append(contentsOf: elements)
        return true
    }
}
