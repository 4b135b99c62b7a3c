/// A column of a table: its title, its alignment, and the text of each row in it.
struct TextColumn<Row> {
    let title: String
    let isRight: Bool
    let text: (Row) -> String

    static func left(_ title: String, _ text: @escaping (Row) -> String) -> Self {
        Self(title: title, isRight: false, text: text)
    }

    static func right(_ title: String, _ text: @escaping (Row) -> String) -> Self {
        Self(title: title, isRight: true, text: text)
    }
}
