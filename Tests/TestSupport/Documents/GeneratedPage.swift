import FoundationEssentials
import Testing

/// A page of the documentation that is generated from the program. A test compares it, and `make docs` writes it.
package struct GeneratedPage {
    /// Its path in the repository, such as `docs/cli.md`.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Its path on this machine.
    package var file: String {
        var url = URL(filePath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url.path + "/" + path
    }

    package var text: String {
        get throws { try String(contentsOfFile: file, encoding: .utf8) }
    }

    /// The examples in SQL that the page shows.
    package var statements: [String] {
        get throws { try text.matches(of: #/```sql\n((?:[^`]|`(?!``))*)```/#).map { String($0.output.1) } }
    }

    /// `make docs` writes the pages.
    package static var isWritten: Bool { ProcessInfo.processInfo.environment["PAGES"] == "write" }

    package func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    /// Expects these lines between two texts, of which the first ends with its line.
    /// - Parameter headings: How many lines after the first are not made from the program.
    package func expect(_ lines: [String], after first: String, before last: String, skipping headings: Int = 0) throws
    {
        let text = try text
        var start = try #require(text.firstRange(of: first)).upperBound
        for _ in 0...headings { start = text.index(after: try #require(text[start...].firstIndex(of: "\n"))) }
        let end = try #require(text[start...].firstRange(of: last)).lowerBound
        try expect(String(text[..<start]) + lines.joined(separator: "\n") + text[end...])
    }

    /// Expects the page to match the program.
    package func expect(_ expected: String) throws {
        if Self.isWritten { return try write(expected) }
        let text = try text
        let differs = zip(text.split(separator: "\n"), expected.split(separator: "\n")).first { $0 != $1 }
        #expect(
            text == expected,
            "`make docs` writes \(path); the first line that differs: \(differs.map { "\($0)" } ?? "at the end")"
        )
    }
}
