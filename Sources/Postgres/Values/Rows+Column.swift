extension Rows {
    /// A column. Access by name searches for the column each time, so read many rows by position.
    package enum Column: Sendable {
        case index(Int)
        case name(StaticString)
    }

    /// The column with this name as a position, for reading many rows.
    package func position(of name: StaticString) throws(PostgresError) -> Column {
        .index(try index(of: .name(name)))
    }

    @inline(__always)
    func index(of column: Column) throws(PostgresError) -> Int {
        switch column {
        case .index(let index): return index
        case .name(let name):
            guard let index = result.index(of: name) else {
                throw PostgresError(.unexpectedValue, "the rows have no column named \(name)")
            }
            return index
        }
    }
}

extension Rows.Column: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    package init(integerLiteral index: Int) { self = .index(index) }

    package init(stringLiteral name: StaticString) { self = .name(name) }
}
