/// The values of a statement's parameters `$1`, `$2`, …, appended in that order: one flat buffer in PostgreSQL's binary
/// format, no object a value.
///
/// Every value is appended with its type, a null too, and the statement is prepared with those types. So one statement
/// has to be given the same types every time.
package struct Parameters: Sendable {
    /// Where a value lies in `bytes`; a null has no place.
    struct Place: Sendable {
        let offset: Int
        /// Minus one: null.
        let length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var places: [Place] = []
    private(set) var types: [UInt32] = []

    package init() {}

    package init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    package var count: Int { places.count }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        places.removeAll(keepingCapacity: keepingCapacity)
        types.removeAll(keepingCapacity: keepingCapacity)
    }

    package mutating func appendNull(_ type: PostgresType) {
        appendNull(id: type.id)
    }

    package mutating func appendNull(arrayOf type: PostgresType) {
        appendNull(id: type.arrayID)
    }

    package mutating func append(_ value: Bool?) {
        append(.bool, value) { bytes, value in bytes.append(value ? 1 : 0) }
    }

    package mutating func append(_ value: Int16?) {
        append(.int2, value) { bytes, value in bytes.append(bigEndian: value) }
    }

    package mutating func append(_ value: Int32?) {
        append(.int4, value) { bytes, value in bytes.append(bigEndian: value) }
    }

    package mutating func append(_ value: Int64?) {
        append(.int8, value) { bytes, value in bytes.append(bigEndian: value) }
    }

    package mutating func append(_ value: Double?) {
        append(.float8, value) { bytes, value in bytes.append(bigEndian: value.bitPattern) }
    }

    /// Microseconds since 1970; `Int64.max` and `.min` are the infinities.
    package mutating func append(timestamp microseconds: Int64?) {
        append(.timestamptz, microseconds) { bytes, value in bytes.append(bigEndian: Timestamp.fromUnix(value)) }
    }

    package mutating func append(uuid value: (high: UInt64, low: UInt64)?) {
        append(.uuid, value) { bytes, value in
            bytes.append(bigEndian: value.high)
            bytes.append(bigEndian: value.low)
        }
    }

    package mutating func append(_ value: String?) {
        append(.text, value) { bytes, value in bytes.append(contentsOf: value.utf8) }
    }

    package mutating func append(json value: String?) {
        append(.json, value) { bytes, value in bytes.append(contentsOf: value.utf8) }
    }

    package mutating func append(jsonb value: String?) {
        append(.jsonb, value) { bytes, value in
            bytes.append(1)  // the version of the format
            bytes.append(contentsOf: value.utf8)
        }
    }

    /// The bytes of a `text`, `json`, `jsonb` or `bytea`.
    package mutating func append(_ type: PostgresType, bytes span: RawSpan) {
        precondition(type.takesBytes, "only text, json, jsonb and bytea are appended as bytes")
        let start = bytes.count
        if type == .jsonb { bytes.append(1) }
        bytes.append(copying: span)
        finish(type.id, from: start)
    }

    package mutating func append(_ array: PostgresArray) {
        let start = bytes.count
        array.write(into: &bytes)
        finish(array.type.arrayID, from: start)
    }

    private mutating func append<Value>(
        _ type: PostgresType,
        _ value: Value?,
        _ write: (inout [UInt8], Value) -> Void
    ) {
        guard let value else { return appendNull(id: type.id) }
        let start = bytes.count
        write(&bytes, value)
        finish(type.id, from: start)
    }

    private mutating func appendNull(id: UInt32) {
        types.append(id)
        places.append(Place(offset: 0, length: -1))
    }

    private mutating func finish(_ type: UInt32, from start: Int) {
        types.append(type)
        places.append(Place(offset: start, length: bytes.count - start))
    }
}

extension PostgresType {
    /// Whether the binary format is the bytes themselves, so that they can be passed through.
    var takesBytes: Bool {
        self == .text || self == .json || self == .jsonb || self == .bytea
    }
}
