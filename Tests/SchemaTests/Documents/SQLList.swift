/// A list in a file of SQL that `make docs` writes.
enum SQLList {
    /// - Parameter more: How many columns the lines after the first are further to the right.
    static func lines(_ items: [String], indent: Int, more: Int = 0) -> [String] {
        var lines = [String(repeating: " ", count: indent - 1)]
        for (place, item) in items.enumerated() {
            let text = " \(item)" + (place < items.count - 1 ? "," : "")
            if lines[lines.count - 1].count + text.count > 128 {
                lines.append(String(repeating: " ", count: indent + more - 1))
            }
            lines[lines.count - 1] += text
        }
        return lines
    }
}
