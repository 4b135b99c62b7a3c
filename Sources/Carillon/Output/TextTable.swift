/// Rows in columns, for people.
struct TextTable {
    enum Alignment { case left, right }

    private let header: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []

    init(_ header: (String, Alignment)...) {
        self.header = header.map { ($0.0, $0.1) }
    }

    mutating func add(_ cells: String...) {
        precondition(cells.count == header.count, "a row has a cell for each column")
        rows.append(cells.map(\.visible))
    }

    var isEmpty: Bool { rows.isEmpty }

    func text(for stream: TextStream) -> String {
        let widths = header.indices.map { column in
            max(header[column].title.count, rows.map { $0[column].count }.max() ?? 0)
        }
        let title = stream.styled(line(header.map(\.title), widths), .bold)
        return ([title] + rows.map { line($0, widths) }).map { $0 + "\n" }.joined()
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = ""
        for (column, cell) in cells.enumerated() {
            let isLast = column == cells.count - 1
            switch header[column].alignment {
            case .left: text += isLast ? cell : cell.padding(to: widths[column])
            case .right: text += String(repeating: " ", count: widths[column] - cell.count) + cell
            }
            if !isLast { text += "  " }
        }
        return text
    }
}

extension String {
    /// The text followed by as many spaces as it takes to be so long.
    func padding(to length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
