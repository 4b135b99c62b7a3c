package import CarillonPostgres
package import CarillonText

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        guard let row = decoder as? RowDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "only a row of PostgreSQL is read as JSON")
            )
        }
        try self.init(row.source.rows, row.row)
    }

    /// A row as an object: its columns are the members, in their order.
    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        var members: [(String, JSONValue)] = []
        for index in 0..<rows.columnCount { members.append((rows.name(of: index), try Self.cell(rows, row, index))) }
        self = .object(members)
    }

    private static func cell(_ rows: borrowing Rows, _ row: Int, _ index: Int) throws(PostgresError) -> JSONValue {
        let column = Rows.Column.index(index)
        if try rows.isNull(row, column) { return .null }
        return switch rows.typeID(of: index) {
        case PostgresType.bool.id: .bool(try rows.bool(row, column))
        case PostgresType.int2.id, PostgresType.int4.id, PostgresType.int8.id: .int(try rows.int64(row, column))
        case PostgresType.timestamptz.id: try rows.moment(row, column).json
        case PostgresType.float8.id: .double(try rows.double(row, column))
        case PostgresType.text.arrayID: .array(try rows.strings(row, column).map(\.json))
        case PostgresType.json.id: .json(try rows.string(row, column))
        default: .string(try rows.string(row, column))
        }
    }
}
