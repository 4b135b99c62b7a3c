/// A value that is bound as a parameter, or as an element of an array.
package protocol PostgresValue: Parameter {
    static var type: PostgresType { get }

    /// Appends the value in PostgreSQL's binary format.
    func write(to bytes: inout [UInt8])
}

extension Bool: PostgresValue {
    package static var type: PostgresType { .bool }

    package func write(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension Int16: PostgresValue {
    package static var type: PostgresType { .int2 }
}

extension Int32: PostgresValue {
    package static var type: PostgresType { .int4 }
}

extension Int64: PostgresValue {
    package static var type: PostgresType { .int8 }
}

extension PostgresValue where Self: FixedWidthInteger {
    package func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Double: PostgresValue {
    package static var type: PostgresType { .float8 }

    package func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: bitPattern) }
}

extension String: PostgresValue {
    package static var type: PostgresType { .text }

    package func write(to bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}
