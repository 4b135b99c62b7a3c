import Postgres

extension Command {
    static let appList = Command(
        "app",
        "list",
        summary: "List the apps.",
        options: [.json, .database],
        run: { invocation in
            let apps = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.query(AppLine.list, Parameters()) { rows in
                    try rows.indices.map { try AppLine(rows, $0) }
                }
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(.array(apps.map(\.json)))
                return .done
            }
            var table = TextTable(
                ("APP", .left),
                ("TOPIC", .left),
                ("CREDENTIAL", .left),
                ("GATEWAY", .left),
                ("STATE", .left)
            )
            for app in apps {
                table.add(
                    app.name,
                    app.topic ?? "-",
                    app.credential ?? "-",
                    app.gateway ?? app.environment,
                    app.isPaused ? "paused" : "active"
                )
            }
            invocation.console.print(table)
            return .done
        }
    )
}

private struct AppLine {
    static let list = Statement(
        "app_list",
        """
        SELECT a.name, a.topic, c.name, a.environment, a.protocol, a.gateway, a.paused, a.max_rate, a.max_attempts
        FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
        ORDER BY a.name
        """
    )

    let name: String
    let topic: String?
    let credential: String?
    let environment: String
    let wireProtocol: String
    let gateway: String?
    let isPaused: Bool
    let maxRate: Int64?
    let maxAttempts: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, 0)
        topic = try rows.stringIfPresent(row, 1)
        credential = try rows.stringIfPresent(row, 2)
        environment = try rows.string(row, 3)
        wireProtocol = try rows.string(row, 4)
        gateway = try rows.stringIfPresent(row, 5)
        isPaused = try rows.bool(row, 6)
        maxRate = try rows.int64IfPresent(row, 7)
        maxAttempts = try rows.int64(row, 8)
    }

    var json: JSONValue {
        .object([
            ("name", .string(name)), ("topic", JSONValue(topic)), ("credential", JSONValue(credential)),
            ("environment", .string(environment)), ("protocol", .string(wireProtocol)), ("gateway", JSONValue(gateway)),
            ("paused", .bool(isPaused)), ("max_rate", maxRate.map { .int($0) } ?? .null),
            ("max_attempts", .int(maxAttempts)),
        ])
    }
}
