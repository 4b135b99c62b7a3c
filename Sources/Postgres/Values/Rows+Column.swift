extension Rows {
    /// A column of an answer. Access by name searches for the column each time, so read an answer of many rows by position.
    package enum Column: Sendable {
        case place(Int)
        case name(StaticString)
    }

    /// The column with this name as a position, for reading many rows.
    package func position(of name: StaticString) throws(PostgresError) -> Column {
        .place(try place(of: .name(name)))
    }

    @inline(__always)
    func place(of column: Column) throws(PostgresError) -> Int {
        switch column {
        case .place(let place): return place
        case .name(let name):
            guard let place = result.place(of: name) else {
                throw PostgresError(.unexpectedValue, "the answer has no column named \(name)")
            }
            return place
        }
    }
}

extension Rows.Column: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    package init(integerLiteral place: Int) { self = .place(place) }

    package init(stringLiteral name: StaticString) { self = .name(name) }
}
