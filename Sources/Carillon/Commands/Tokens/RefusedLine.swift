/// A line of a file that no registration could be made of.
struct RefusedLine: Equatable, Sendable {
    let line: Int
    let reason: String
    /// What it has in the columns that are read; of a line that has no columns all of it stands in the first.
    let token: String
    var lastUpdate = ""
    var owner = ""
    /// The part that the reason is about.
    let culprit: String

    /// For a person at a terminal.
    var sentence: String {
        let shown = culprit.prefix(70).description.visible + (culprit.count > 70 ? "..." : "")
        return "line \(line): \(reason)" + (shown.isEmpty ? "" : ": \(shown)")
    }

    /// As a record of a CSV file that has the header `header`: mended, it can be imported as it is.
    var csv: String {
        [String(line), reason, token, lastUpdate, owner].map(Self.quoted).joined(separator: ",") + "\n"
    }

    static let header = "line,reason,token,last_update,owner\n"

    private static func quoted(_ field: String) -> String {
        guard field.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return field }
        return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
