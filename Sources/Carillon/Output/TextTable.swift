import CarillonText

/// A table with aligned columns, for people.
struct TextTable {
    /// A column of a table: its title, its alignment, and the text of each row in it.
    struct Column<Row> {
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

    private let titles: [String]
    private let areRight: [Bool]
    private let rows: [[String]]

    /// Without the columns that are nil.
    init<Row>(_ rows: [Row], _ all: Column<Row>?...) {
        let columns = all.compactMap(\.self)
        titles = columns.map(\.title)
        areRight = columns.map(\.isRight)
        self.rows = rows.map { row in columns.map { $0.text(row).visible } }
    }

    func text(for stream: TextStream) -> String {
        let widths = titles.indices.map { column in
            max(titles[column].count, rows.map { $0[column].count }.max() ?? 0)
        }
        let title = stream.styled(line(titles, widths), .bold)
        return ([title] + rows.map { line($0, widths) }).map { $0 + "\n" }.joined()
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        cells.indices.map { column in
            let cell = cells[column]
            if areRight[column] { return String(repeating: " ", count: widths[column] - cell.count) + cell }
            return column == cells.count - 1 ? cell : cell.padding(to: widths[column])
        }
        .joined(separator: "  ")
    }
}

extension String {
    func padding(to length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
