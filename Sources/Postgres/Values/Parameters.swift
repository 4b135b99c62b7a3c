/// The values of a statement's parameters `$1`, `$2`, …: one flat buffer in PostgreSQL's binary format, without an object
/// for each value.
///
/// Every value, even a null, has a type. A statement is prepared with these types, so it must get the same types every time.
package struct Parameters: Sendable {
    /// The place of a value in `bytes`.
    struct Place: Sendable {
        let offset: Int
        /// -1 for null.
        let length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var places: [Place] = []
    private(set) var types: [UInt32] = []

    package init<each Value: Parameter>(_ values: repeat each Value) { repeat append(each values) }

    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    package var count: Int { places.count }

    package mutating func append(_ value: some Parameter) {
        let start = bytes.count
        let isNull = !value.writeIfPresent(to: &bytes)
        types.append(value.typeID)
        places.append(Place(offset: start, length: isNull ? -1 : bytes.count - start))
    }
}

extension PostgresValue {
    package var typeID: UInt32 { Self.type.id }

    package func writeIfPresent(to bytes: inout [UInt8]) -> Bool {
        write(to: &bytes)
        return true
    }
}

extension Optional: Parameter where Wrapped: PostgresValue {
    package var typeID: UInt32 { Wrapped.type.id }

    package func writeIfPresent(to bytes: inout [UInt8]) -> Bool { self?.write(to: &bytes) != nil }
}
