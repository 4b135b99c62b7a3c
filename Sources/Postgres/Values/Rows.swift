import CPostgres

/// The rows of an answer, in PostgreSQL's binary format, read in place.
///
/// Reading a value checks its column's type and that it is not null, and throws otherwise: the database is not ours
/// alone, and a changed column must not crash a program.
package struct Rows: ~Copyable {
    let result: ServerResult
    private let pointer: OpaquePointer
    private let types: [UInt32]
    package let count: Int

    init(_ result: ServerResult) {
        self.result = result
        self.pointer = result.pointer
        self.count = result.rowCount
        self.types = (0..<result.columnCount).map { result.columnType($0) }
    }

    package var columnCount: Int { self.types.count }
    package var isEmpty: Bool { self.count == 0 }
    package var indices: Range<Int> { 0..<self.count }

    /// The rows that the statement inserted, updated, deleted or selected.
    package var affected: Int { self.result.affectedRows }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        self.check(row, column)
        return PQgetisnull(self.pointer, CInt(row), CInt(column)) != 0
    }

    /// An `int2`, `int4` or `int8`.
    package func int64(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        switch self.type(row, column) {
        case PostgresType.int8.id: try Int64(bigEndian: self.load(row, column, as: Int64.self))
        case PostgresType.int4.id: try Int64(Int32(bigEndian: self.load(row, column, as: Int32.self)))
        case PostgresType.int2.id: try Int64(Int16(bigEndian: self.load(row, column, as: Int16.self)))
        default: throw self.mismatch(row, column, "an integer")
        }
    }

    /// An `int2` or `int4`.
    package func int32(_ row: Int, _ column: Int) throws(PostgresError) -> Int32 {
        switch self.type(row, column) {
        case PostgresType.int4.id: try Int32(bigEndian: self.load(row, column, as: Int32.self))
        case PostgresType.int2.id: try Int32(Int16(bigEndian: self.load(row, column, as: Int16.self)))
        default: throw self.mismatch(row, column, "an int4")
        }
    }

    package func int16(_ row: Int, _ column: Int) throws(PostgresError) -> Int16 {
        try self.require(row, column, .int2, "an int2")
        return try Int16(bigEndian: self.load(row, column, as: Int16.self))
    }

    package func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        try self.require(row, column, .bool, "a boolean")
        return try self.load(row, column, as: UInt8.self) != 0
    }

    package func double(_ row: Int, _ column: Int) throws(PostgresError) -> Double {
        try self.require(row, column, .float8, "a float8")
        return try Double(bitPattern: UInt64(bigEndian: self.load(row, column, as: UInt64.self)))
    }

    /// A `timestamptz`, in microseconds since 1970; `Int64.max` and `.min` are the infinities.
    package func timestamp(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        try self.require(row, column, .timestamptz, "a timestamptz")
        return try Timestamp.toUnix(Int64(bigEndian: self.load(row, column, as: Int64.self)))
    }

    package func uuid(_ row: Int, _ column: Int) throws(PostgresError) -> (high: UInt64, low: UInt64) {
        try self.require(row, column, .uuid, "a uuid")
        let (start, length) = try self.cell(row, column)
        guard length == 16 else { throw self.mismatch(row, column, "a uuid") }
        return (
            UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    /// A `text`, `json` or any other type whose binary format is its text.
    package func string(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        let (start, length) = try self.cell(row, column)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }

    /// The value's bytes as they came, in place.
    package func withBytes<R>(
        _ row: Int,
        _ column: Int,
        _ body: (RawSpan) throws(PostgresError) -> R
    ) throws(PostgresError) -> R {
        let (start, length) = try self.cell(row, column)
        return try body(UnsafeRawBufferPointer(start: start, count: length).bytes)
    }

    // MARK: One cell

    @inline(__always)
    private func check(_ row: Int, _ column: Int) {
        precondition(row >= 0 && row < self.count && column >= 0 && column < self.types.count, "no such row or column")
    }

    @inline(__always)
    private func type(_ row: Int, _ column: Int) -> UInt32 {
        self.check(row, column)
        return self.types[column]
    }

    @inline(__always)
    private func require(_ row: Int, _ column: Int, _ type: PostgresType, _ what: String) throws(PostgresError) {
        if self.type(row, column) != type.id { throw self.mismatch(row, column, what) }
    }

    /// Where the value lies, which is not null. It lives as long as the result does.
    @inline(__always)
    func cell(_ row: Int, _ column: Int) throws(PostgresError) -> (start: UnsafeRawPointer, length: Int) {
        self.check(row, column)
        let length = Int(PQgetlength(self.pointer, CInt(row), CInt(column)))
        // Nulls are told by another question, which only what looks empty needs to be asked.
        if length == 0 && PQgetisnull(self.pointer, CInt(row), CInt(column)) != 0 {
            throw self.mismatch(row, column, "a value")
        }
        return (UnsafeRawPointer(PQgetvalue(self.pointer, CInt(row), CInt(column))!), length)
    }

    @inline(__always)
    private func load<Value: BitwiseCopyable>(
        _ row: Int,
        _ column: Int,
        as type: Value.Type
    ) throws(PostgresError) -> Value {
        let (start, length) = try self.cell(row, column)
        guard length == MemoryLayout<Value>.size else { throw self.mismatch(row, column, "a value of its type's size") }
        return start.loadUnaligned(as: Value.self)
    }

    func columnType(_ column: Int) -> UInt32 { self.types[column] }

    func mismatch(_ row: Int, _ column: Int, _ expected: String) -> PostgresError {
        let name = self.result.columnName(column)
        let found =
            PQgetisnull(self.pointer, CInt(row), CInt(column)) != 0
            ? "null" : "of the type with the number \(self.types[column])"
        return PostgresError(
            .unexpectedValue,
            "column \(column + 1) (\(name)) is \(found) where \(expected) was expected"
        )
    }
}
