/// The values of a statement's parameters `$1`, `$2`, …, appended in that order: one flat buffer in PostgreSQL's binary
/// format, no object a value.
///
/// Every value has a type, also a null, and the statement is prepared with these types, so it must be given the same types
/// every time.
package struct Parameters: Sendable {
    /// The place of a value in `bytes`.
    struct Place: Sendable {
        let offset: Int
        /// -1: null.
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
        let start = bytes.count
        if let value { write(&bytes, value) }
        finish(type.id, from: start, isNull: value == nil)
    }

    private mutating func finish(_ type: UInt32, from start: Int, isNull: Bool = false) {
        types.append(type)
        places.append(Place(offset: start, length: isNull ? -1 : bytes.count - start))
    }
}
