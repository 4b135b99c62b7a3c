import CarillonPushRules
import TestSupport
import Testing

/// What is made of the table of push types.
@Suite struct PushTypeTableTests {
    @Test func `the page about enqueueing shows the table`() throws {
        let rows = PushTypeRules.all.map { rules in
            let suffix = "\(rules.topicSuffix)".isEmpty ? "" : "`\(rules.topicSuffix)` "
            return "| `\(rules.name)` | \(suffix)| \(rules.priorities.text) | \(rules.payloadLimit) |"
        }
        try GeneratedPage("docs/enqueue.md").expect(rows, after: "| push type |", before: "\n\n", skipping: 1)
    }

    @Test func `the function in SQL returns the table`() throws {
        let all = PushTypeRules.all + [.channel, .unknown]
        let rows = all.enumerated().map { place, rules in
            let numbers = "'{\(rules.priorities.numbers.map(String.init).joined(separator: ","))}'"
            let values = [
                rules.name.utf8CodeUnitCount == 0 ? "NULL" : "'\(rules.name)'", "'\(rules.topicSuffix)'",
                numbers + (place == 0 ? "::smallint[]" : ""),
                (rules.defaultPriority.map { "\($0)" } ?? "NULL") + (place == 0 ? "::smallint" : ""),
                "\(rules.payloadLimit)", "\(rules.collapseIDLimit)", "\(rules.isSilent)", "\(rules.needsExpiration)",
                "\(rules.needsProviderToken)", rules.tokenKind.map { "'\($0)'" } ?? "NULL",
                rules.startKind.map { "'\($0)'" } ?? "NULL", "\(rules.isUpdate)",
            ]
            let gap = rules.startKind == nil ? " " : "\n            "
            let text = values[..<9].joined(separator: ", ") + "," + gap + values[9...].joined(separator: ", ")
            return "        (\(text))" + (place < all.count - 1 ? "," : "")
        }
        let page = GeneratedPage("migrations/functions/enqueue/push_types.sql")
        try page.expect(rows, after: "    VALUES", before: "\n$$;")
        try page.expect(
            ["LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS \(rows.count) AS $$"],
            after: "FUNCTION carillon.push_types()",
            before: "\n    VALUES"
        )
    }

    @Test func `the function in SQL returns the kinds of tokens`() throws {
        let kinds = TokenKind.names.map { "        '\($0)'" }.joined(separator: ",\n")
        try GeneratedPage("migrations/functions/tokens/tokens.sql").expect(
            [kinds],
            after: "    SELECT ARRAY[",
            before: "\n    ]\n"
        )
    }

    @Test func `each push type is a member of PushType`() throws {
        let members = PushTypeRules.all.map { rules in
            "    /// \(rules.meaning)\n    public static let \(rules.member) = known(\"\(rules.name)\")"
        }
        try GeneratedPage("Sources/ApplePush/Message/PushType+Known.swift")
            .expect(members, after: "extension PushType {", before: "\n}\n")
    }
}
