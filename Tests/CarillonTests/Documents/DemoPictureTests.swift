import TestSupport
import Testing

/// docs/demo.svg, the picture in the README of what `carillon demo` prints.
@Suite struct DemoPictureTests {
    @Test func `the picture shows what the demo prints, whatever the figures`() async throws {
        let page = GeneratedPage("docs/demo.svg")
        let messages = GeneratedPage.isWritten ? "20000" : "400"
        let run = try await ProgramRun.run(["demo", "--messages", messages])
        #expect(run.status == 0)
        var lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        while lines.last?.isEmpty == true { lines.removeLast() }
        let start = try #require(lines.firstIndex { $0.hasPrefix("OUTCOME") })
        let table = ["$ carillon demo", ""] + lines[start...]
        if GeneratedPage.isWritten {
            return try page.write(TerminalPicture(lines: table).svg)
        }
        #expect(TerminalPicture.lines(of: try page.text).compactMap(Self.words) == table.compactMap(Self.words))
    }

    /// The words of a line, without its figures and its spaces; nil: it is empty.
    private static func words(_ line: String) -> String? {
        let words = line.replacing(#/[0-9][0-9,.]*/#, with: "N").split(separator: " ")
        return words.isEmpty ? nil : words.joined(separator: " ")
    }
}
