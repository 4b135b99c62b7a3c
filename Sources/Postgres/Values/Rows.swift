import CarillonCPostgres

/// The rows that a statement returned, in PostgreSQL's binary format, read in place.
///
/// Reading a value throws if its column has another type or the value is null: others may change the database, and a changed column
/// must not crash the program.
package struct Rows: ~Copyable {
    let result: ServerResult
    private let pointer: OpaquePointer
    private let types: [UInt32]
    package let count: Int

    init(_ result: ServerResult) {
        self.result = result
        pointer = result.pointer
        count = result.rowCount
        types = (0..<result.columnCount).map { result.columnType($0) }
    }

    /// The first notices of the statement.
    package var notices: [ServerNotice] { result.notices }

    /// Notices about pushes that devices ignore, and about values that were not checked. Others may come from triggers, and clients
    /// without access to the database must not see them.
    package var noticesOfSchema: [String] {
        notices.filter { [SQLState.ignoredByDevices, SQLState.unknownValue].contains($0.sqlState) }.map(\.sentence)
    }

    package var columnCount: Int { types.count }

    package func name(of column: Int) -> String { result.columnName(column) }

    package func typeID(of column: Int) -> UInt32 { types[column] }

    package var isEmpty: Bool { count == 0 }
    package var indices: Range<Int> { 0..<count }

    package func isNull(_ row: Int, _ column: Column) throws(PostgresError) -> Bool {
        let column = try index(of: column)
        check(row, column)
        return PQgetisnull(pointer, CInt(row), CInt(column)) != 0
    }

    /// The column with this name; nil if its value is null in every row. Asked once, this saves a look at each row.
    package func positionIfUsed(of name: StaticString) throws(PostgresError) -> Column? {
        let column = try index(of: .name(name))
        let isUsed = indices.contains { PQgetisnull(pointer, CInt($0), CInt(column)) == 0 }
        return isUsed ? .index(column) : nil
    }

    /// How many bytes the values of the column have together.
    package func byteCount(of column: Column) throws(PostgresError) -> Int {
        let column = try index(of: column)
        precondition(types.indices.contains(column), "no such column")
        return indices.reduce(0) { $0 + Int(PQgetlength(pointer, CInt($1), CInt(column))) }
    }

    /// An `int2`, `int4` or `int8`.
    package func int64(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        let column = try index(of: column)
        return switch type(row, column) {
        case PostgresType.int8.id: try Int64(bigEndian: load(row, column, as: Int64.self))
        case PostgresType.int4.id: try Int64(Int32(bigEndian: load(row, column, as: Int32.self)))
        case PostgresType.int2.id: try Int64(Int16(bigEndian: load(row, column, as: Int16.self)))
        default: throw mismatch(row, column, "an integer")
        }
    }

    /// An `int2` or `int4`.
    package func int32(_ row: Int, _ column: Column) throws(PostgresError) -> Int32 {
        let column = try index(of: column)
        return switch type(row, column) {
        case PostgresType.int4.id: try Int32(bigEndian: load(row, column, as: Int32.self))
        case PostgresType.int2.id: try Int32(Int16(bigEndian: load(row, column, as: Int16.self)))
        default: throw mismatch(row, column, "an int4")
        }
    }

    package func int16(_ row: Int, _ column: Column) throws(PostgresError) -> Int16 {
        let column = try index(of: column)
        try require(row, column, .int2, "an int2")
        return try Int16(bigEndian: load(row, column, as: Int16.self))
    }

    package func bool(_ row: Int, _ column: Column) throws(PostgresError) -> Bool {
        let column = try index(of: column)
        try require(row, column, .bool, "a boolean")
        return try load(row, column, as: UInt8.self) != 0
    }

    package func double(_ row: Int, _ column: Column) throws(PostgresError) -> Double {
        let column = try index(of: column)
        try require(row, column, .float8, "a float8")
        return try Double(bitPattern: UInt64(bigEndian: load(row, column, as: UInt64.self)))
    }

    package func moment(_ row: Int, _ column: Column) throws(PostgresError) -> Moment {
        let column = try index(of: column)
        try require(row, column, .timestamptz, "a timestamptz")
        return try Moment(Moment.toUnix(Int64(bigEndian: load(row, column, as: Int64.self))))
    }

    package func uuid(_ row: Int, _ column: Column) throws(PostgresError) -> (high: UInt64, low: UInt64) {
        let column = try index(of: column)
        try require(row, column, .uuid, "a uuid")
        let (start, length) = try cell(row, column)
        guard length == 16 else { throw mismatch(row, column, "a uuid") }
        return (
            UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    /// A `text`, a `json`, or any other type whose binary format is its text.
    package func string(_ row: Int, _ column: Column) throws(PostgresError) -> String {
        let column = try index(of: column)
        let (start, length) = try cell(row, column)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }

    /// The value's bytes, in place.
    package func withBytes<R>(
        _ row: Int,
        _ column: Column,
        _ body: (RawSpan) throws(PostgresError) -> R
    ) throws(PostgresError) -> R {
        let column = try index(of: column)
        let (start, length) = try cell(row, column)
        return try body(UnsafeRawBufferPointer(start: start, count: length).bytes)
    }

    // MARK: One cell

    @inline(__always)
    private func check(_ row: Int, _ column: Int) {
        precondition(row >= 0 && row < count && column >= 0 && column < types.count, "no such row or column")
    }

    @inline(__always)
    private func type(_ row: Int, _ column: Int) -> UInt32 {
        check(row, column)
        return types[column]
    }

    @inline(__always)
    private func require(_ row: Int, _ column: Int, _ type: PostgresType, _ what: String) throws(PostgresError) {
        if self.type(row, column) != type.id { throw mismatch(row, column, what) }
    }

    /// The address of a non-null value, valid as long as the result.
    @inline(__always)
    func cell(_ row: Int, _ column: Int) throws(PostgresError) -> (start: UnsafeRawPointer, length: Int) {
        check(row, column)
        let length = Int(PQgetlength(pointer, CInt(row), CInt(column)))
        // Only an empty value may be null, so all others save one call.
        if length == 0 && PQgetisnull(pointer, CInt(row), CInt(column)) != 0 { throw mismatch(row, column, "a value") }
        return (UnsafeRawPointer(PQgetvalue(pointer, CInt(row), CInt(column))!), length)
    }

    @inline(__always)
    private func load<Value: BitwiseCopyable>(
        _ row: Int,
        _ column: Int,
        as type: Value.Type
    ) throws(PostgresError) -> Value {
        let (start, length) = try cell(row, column)
        guard length == MemoryLayout<Value>.size else { throw mismatch(row, column, "a value of its type's size") }
        return start.loadUnaligned(as: Value.self)
    }

    func mismatch(_ row: Int, _ column: Int, _ expected: String) -> PostgresError {
        let name = result.columnName(column)
        let found =
            PQgetisnull(pointer, CInt(row), CInt(column)) != 0
            ? "null" : "of the type with the number \(types[column])"
        return PostgresError(
            .unexpectedValue,
            "column \(column + 1) (\(name)) is \(found) where \(expected) was expected"
        )
    }
}
