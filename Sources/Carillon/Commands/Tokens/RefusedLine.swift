import CarillonText

/// A line of a file that is not a registration.
struct RefusedLine: Equatable, Sendable {
    let line: Int
    let reason: String
    /// The content of the columns that are read. If the line has no columns, the whole line is in the first.
    let token: String
    var lastUpdate = ""
    var owner = ""
    var kind = ""
    var details: [String] = []
    /// The part that the reason refers to.
    let culprit: String

    /// For a terminal.
    var sentence: String {
        let shown = culprit.prefix(70).description.visible + (culprit.count > 70 ? "..." : "")
        return "line \(line): \(reason)" + (shown.isEmpty ? "" : ": \(shown)")
    }

    /// As a record of a CSV file with the header `header`: once corrected, it can be imported as it is.
    var csv: String {
        let others = TokenDetails.names.indices.map { details.indices.contains($0) ? details[$0] : "" }
        return ([String(line), reason, token, lastUpdate, owner, kind] + others).map(Self.quoted).joined(separator: ",")
            + "\n"
    }

    static let header = "line,reason,token,last_update,owner,kind,\(TokenDetails.names.joined(separator: ","))\n"

    private static func quoted(_ field: String) -> String {
        guard field.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return field }
        return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
