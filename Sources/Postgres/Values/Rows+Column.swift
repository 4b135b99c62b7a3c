extension Rows {
    /// A column of an answer. Reading a value by the name of its column costs a search for the name, so an answer of many
    /// rows is read by position.
    package enum Column: Sendable {
        case place(Int)
        case name(StaticString)
    }

    /// The column of that name by its position, for reading many rows.
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
