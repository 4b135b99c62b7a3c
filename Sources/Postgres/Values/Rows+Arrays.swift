/// Reads arrays of any number of dimensions in place.
extension Rows {
    /// Calls the body with the bytes of each element, nil for a null.
    package func forEachElement(
        _ row: Int,
        _ column: Column,
        _ body: (RawSpan?) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        let column = try index(of: column)
        let (start, length) = try cell(row, column)
        var rest = ArrayReader(UnsafeRawBufferPointer(start: start, count: length))
        guard var left = rest.readHeader() else { throw mismatch(row, column, "an array") }
        while left > 0 {
            guard let element = rest.readElement() else { throw mismatch(row, column, "a whole array") }
            switch element {
            case .null: try body(nil)
            case .bytes(let bytes): try body(bytes.bytes)
            }
            left -= 1
        }
    }

    /// The number of elements, including nulls.
    package func elementCount(_ row: Int, _ column: Column) throws(PostgresError) -> Int {
        let column = try index(of: column)
        let (start, length) = try cell(row, column)
        var reader = ArrayReader(UnsafeRawBufferPointer(start: start, count: length))
        guard let count = reader.readHeader() else { throw mismatch(row, column, "an array") }
        return count
    }

    /// The elements of a `bigint[]`; a null is nil.
    package func int64s(_ row: Int, _ column: Column) throws(PostgresError) -> [Int64?] {
        var numbers: [Int64?] = []
        try forEachElement(row, column) { (element: RawSpan?) throws(PostgresError) in
            guard let element else { return numbers.append(nil) }
            guard element.byteCount == 8 else { throw PostgresError(.unexpectedValue, "an element is not a bigint") }
            numbers.append(Int64(bigEndian: element.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }))
        }
        return numbers
    }

    /// The elements of a `text[]`; a null is nil.
    package func strings(_ row: Int, _ column: Column) throws(PostgresError) -> [String?] {
        var strings: [String?] = []
        try forEachElement(row, column) { (element: RawSpan?) throws(PostgresError) in
            strings.append(element?.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
        return strings
    }
}

/// Reads the binary format of an array, and checks every length in it.
struct ArrayReader {
    enum Element {
        case null
        case bytes(UnsafeRawBufferPointer)
    }

    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    /// The number of elements in all dimensions together; nil if this is not an array.
    mutating func readHeader() -> Int? {
        guard let dimensions = readInt32(), dimensions >= 0, dimensions <= 6, readInt32() != nil,
            readInt32() != nil
        else { return nil }
        if dimensions == 0 { return 0 }
        var count = 1
        for _ in 0..<dimensions {
            guard let length = readInt32(), length >= 0, readInt32() != nil else { return nil }
            let (product, overflow) = count.multipliedReportingOverflow(by: Int(length))
            if overflow { return nil }
            count = product
        }
        return count
    }

    mutating func readElement() -> Element? {
        guard let length = readInt32() else { return nil }
        if length == -1 { return .null }
        guard length >= 0, Int(length) <= rest.count else { return nil }
        let element = UnsafeRawBufferPointer(rebasing: rest[..<Int(length)])
        rest = UnsafeRawBufferPointer(rebasing: rest[Int(length)...])
        return .bytes(element)
    }

    private mutating func readInt32() -> Int32? {
        guard rest.count >= 4 else { return nil }
        let value = Int32(bigEndian: rest.loadUnaligned(as: Int32.self))
        rest = UnsafeRawBufferPointer(rebasing: rest[4...])
        return value
    }
}
