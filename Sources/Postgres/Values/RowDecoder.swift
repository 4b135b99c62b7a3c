import CarillonText

/// Reads a record from a row: each property from the column with its name, so `failedAt` from `failed_at`, and `isPaused` from
/// `is_paused` or `paused`. A property that is itself a record is read from the same row. For many rows, `Rows` is faster.
package struct RowDecoder: Decoder {
    /// The rows, with the positions of their columns.
    package final class Source {
        package let rows: Rows
        private let columns: [String: Int]
        /// The columns of properties that were looked for, since all rows have the same.
        private var found: [String: Int?] = [:]

        init(_ rows: borrowing Rows) {
            self.rows = Rows(rows.result)
            columns = Dictionary((0..<rows.columnCount).map { (rows.name(of: $0), $0) }) { first, _ in first }
        }

        fileprivate func column(for property: String) -> Int? {
            if let known = found[property] { return known }
            let name = property.snakeCase
            let column = columns[name] ?? (name.hasPrefix("is_") ? columns[String(name.dropFirst(3))] : nil)
            found[property] = .some(column)
            return column
        }
    }

    private enum Place {
        /// The whole row. A single value is its first column.
        case row
        case column(Int)
        /// A property without a column of its name: only a record can be read.
        case property(String)
    }

    package let source: Source
    package let row: Int
    private var place = Place.row

    init(_ source: Source, row: Int) {
        self.source = source
        self.row = row
    }

    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Properties(decoder: self))
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if case .property(let name) = place { throw missing(name) }
        throw PostgresError(.unexpectedValue, "arrays of this type are not read from a row")
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer {
        switch place {
        case .row: return Cell(decoder: self, column: 0)
        case .column(let column): return Cell(decoder: self, column: .index(column))
        case .property(let name): throw missing(name)
        }
    }

    private func at(_ property: String) -> RowDecoder {
        var decoder = self
        decoder.place = source.column(for: property).map { .column($0) } ?? .property(property)
        return decoder
    }

    private func missing(_ property: String) -> PostgresError {
        PostgresError(.unexpectedValue, "the rows have no column for \(property)")
    }

    private struct Properties<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: RowDecoder

        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }

        func decodeNil(forKey key: Key) throws -> Bool {
            guard let column = decoder.source.column(for: key.stringValue) else {
                throw decoder.missing(key.stringValue)
            }
            return try decoder.source.rows.isNull(decoder.row, .index(column))
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            if let column = decoder.source.column(for: key.stringValue), let array = try array(type, column) {
                return array
            }
            do {
                return try Value(from: decoder.at(key.stringValue))
            } catch DecodingError.dataCorrupted(let context) {
                let why = "holds a value that this program does not know: \(context.debugDescription)"
                throw PostgresError(.unexpectedValue, "column \(key.stringValue) \(why)")
            }
        }

        private func array<Value>(_ type: Value.Type, _ column: Int) throws -> Value? {
            switch type {
            case is [String].Type:
                try decoder.source.rows.strings(decoder.row, .index(column)).compactMap(\.self) as? Value
            case is [Int64].Type:
                try decoder.source.rows.int64s(decoder.row, .index(column)).compactMap(\.self) as? Value
            default: nil
            }
        }

        func nestedContainer<Other: CodingKey>(keyedBy type: Other.Type, forKey: Key) -> KeyedDecodingContainer<Other> {
            decoder.container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey: Key) throws -> any UnkeyedDecodingContainer {
            try decoder.unkeyedContainer()
        }

        func superDecoder() -> any Decoder { decoder }

        func superDecoder(forKey: Key) -> any Decoder { decoder }
    }

    private struct Cell: SingleValueDecodingContainer {
        let decoder: RowDecoder
        let column: Rows.Column

        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { (try? decoder.source.rows.isNull(decoder.row, column)) ?? false }

        func decode(_ type: Bool.Type) throws -> Bool { try decoder.source.rows.bool(decoder.row, column) }

        func decode(_ type: String.Type) throws -> String { try decoder.source.rows.string(decoder.row, column) }

        func decode<Number: BinaryFloatingPoint & Decodable>(_ type: Number.Type) throws -> Number {
            Number(try decoder.source.rows.double(decoder.row, column))
        }

        /// Decodes an integer, or a time in microseconds since 1970.
        func decode<Number: FixedWidthInteger & Decodable>(_ type: Number.Type) throws -> Number {
            let number = try decoder.source.rows.number(decoder.row, column)
            guard let value = Number(exactly: number) else {
                throw PostgresError(.unexpectedValue, "\(number) is out of range")
            }
            return value
        }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: decoder) }
    }
}

extension Rows {
    /// An integer, or a `timestamptz` in microseconds since 1970.
    fileprivate func number(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        try typeID(of: index(of: column)) == PostgresType.timestamptz.id
            ? moment(row, column).microseconds : int64(row, column)
    }
}

extension Rows {
    package func records<Value: Decodable>() throws(PostgresError) -> [Value] {
        let source = RowDecoder.Source(self)
        var records: [Value] = []
        records.reserveCapacity(count)
        for row in indices { records.append(try Self.record(RowDecoder(source, row: row))) }
        return records
    }

    package func record<Value: Decodable>(_ row: Int) throws(PostgresError) -> Value {
        try Self.record(RowDecoder(RowDecoder.Source(self), row: row))
    }

    private static func record<Value: Decodable>(_ decoder: RowDecoder) throws(PostgresError) -> Value {
        do {
            return try Value(from: decoder)
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "a value does not fit: \(error)")
        }
    }
}
