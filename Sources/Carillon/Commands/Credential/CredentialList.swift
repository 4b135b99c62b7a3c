import FoundationEssentials
import Postgres

extension Command {
    static let credentialList = Command(
        "credential",
        "list",
        summary: "List the credentials, without their secrets.",
        options: [.json, .database],
        run: { invocation in
            let lines = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.query(CredentialLine.list, Parameters()) { rows in
                    try rows.indices.map { try CredentialLine(rows, $0) }
                }
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(.array(lines.map(\.json)))
                return .done
            }
            var table = TextTable(
                ("CREDENTIAL", .left),
                ("KIND", .left),
                ("TOPICS", .left),
                ("EXPIRES", .left),
                ("STATUS", .left),
                ("APPS", .right)
            )
            for line in lines {
                table.add(
                    line.name,
                    line.kind,
                    line.topics.isEmpty ? "-" : line.topics.joined(separator: ","),
                    line.notAfter.map(UnixDay.text) ?? "-",
                    line.status ?? "not looked at",
                    String(line.apps)
                )
            }
            invocation.console.print(table)
            return .done
        }
    )
}

private struct CredentialLine {
    static let list = Statement(
        "credential_list",
        """
        SELECT c.name, c.key_id, c.team_id, c.topics, c.not_after, c.status, c.last_error,
            (SELECT count(*) FROM carillon.apps a WHERE a.certificate_id = c.id)
        FROM carillon.certificates c ORDER BY c.name
        """
    )

    let name: String
    let keyID: String?
    let teamID: String?
    let topics: [String]
    let notAfter: Int64?
    let status: String?
    let lastError: String?
    let apps: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, 0)
        keyID = try rows.stringIfPresent(row, 1)
        teamID = try rows.stringIfPresent(row, 2)
        topics = rows.isNull(row, 3) ? [] : try rows.strings(row, 3).compactMap { $0 }
        notAfter = try rows.timestampIfPresent(row, 4).map { $0 / 1_000_000 }
        status = try rows.stringIfPresent(row, 5)
        lastError = try rows.stringIfPresent(row, 6)
        apps = try rows.int64(row, 7)
    }

    var kind: String { keyID.map { "key \($0)" } ?? "certificate" }

    var json: JSONValue {
        .object([
            ("name", .string(name)), ("key_id", JSONValue(keyID)), ("team_id", JSONValue(teamID)),
            ("topics", .array(topics.map { .string($0) })),
            ("not_after", JSONValue(notAfter.map(UnixDay.text))), ("status", JSONValue(status)),
            ("last_error", JSONValue(lastError)), ("apps", .int(apps)),
        ])
    }
}
