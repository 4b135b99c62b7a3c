/// How a column of a row, called `u`, and its value in the model are compared.
struct ModelColumn<Row>: Sendable {
    let name: String
    /// Its value as text, in SQL.
    let sql: String
    /// The model's.
    let text: @Sendable (Row) -> String

    init(_ name: String, as sql: String? = nil, _ text: @escaping @Sendable (Row) -> String) {
        self.name = name
        self.sql = sql ?? "u.\(name)"
        self.text = text
    }
}
