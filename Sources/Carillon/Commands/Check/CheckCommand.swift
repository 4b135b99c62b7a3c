import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let check = Command(
        "check",
        roles: ["carillon_worker"],
        summary: "Check everything that a worker needs, and say how to fix what is wrong.",
        discussion: """
            Checks the database, migrations, rights, isolation, query plans, clock, autovacuum, locks, workers, maintenance,
            consumers of events, credentials and their topics, export tokens, and apps that are paused, held or late, or most of
            whose pushes fail. Also checks whether each gateway, and the channel service of apps with channels, is reachable and
            trusted. Sends nothing and writes nothing. Run it with the login of the workers.

            Prints a line for each: ok, warning or failed. With --json, prints an object whose array findings has, for each
            finding: subject; condition ("ok", "warning" or "failed"); sentence; remedy, or null; and database, if there are
            several.
            """,
        options: [.json, .databases],
        exits: [
            .done: "Nothing failed.",
            .unavailable: "The database or a gateway cannot be reached.",
            .tryAgain: "A lock prevented a check.",
            .configuration: "Something must be changed.",
        ],
        examples: [
            "carillon check", "carillon check --json | jq -r '.findings[] | select(.condition != \"ok\").remedy'",
        ],
        run: { invocation in
            let lines = await lines(invocation)
            if invocation.settings.isOn(.json) {
                let result: JSONValue = ["findings": lines]
                invocation.console.print(json: result.cleaned(by: invocation.console.redactor))
            } else {
                for line in lines {
                    let text = line.text(for: invocation.console.output)
                    invocation.console.print(invocation.console.redactor.clean(text))
                }
            }
            return .worst(of: lines.filter { $0.condition == .failed }.map(\.status))
        }
    )

    private static func lines(_ invocation: Invocation) async -> [CheckLine] {
        let databases = invocation.settings.databases
        var lines: [CheckLine] = []
        for (label, database) in zip(DatabaseLabel.ifSeveral(databases.map(\.text)), databases) {
            lines += await Self.lines(invocation, on: database).map { $0.about(label) }
        }
        return lines
    }

    private static func lines(_ invocation: Invocation, on database: DatabaseSetting) async -> [CheckLine] {
        await CheckLine.of("database") {
            // A check that meets a lock reports its holder instead of waiting.
            let settings = SessionSettings.unhurried.with(["lock_timeout": "2s"])
            return try await DatabaseScope.with(
                invocation,
                to: .any,
                database: database.source,
                settings: settings
            ) { connection, loop in
                var lines = await DatabaseChecks(connection: connection).run()
                guard lines.allSatisfy({ $0.subject != "migrations" || $0.condition == .ok }) else { return lines }
                lines += await CheckLine.of("credential") { try await CredentialChecks(connection: connection).run() }
                lines += await CheckLine.of("app") {
                    CheckLine.warnings(AppStatus.findings(of: try await AppStatus.all(from: connection)))
                }
                lines += await CheckLine.of("metrics") {
                    try await ExportTokenRecord.all(from: connection).map { token in
                        token.finding.map { .warning($0.sentence, remedy: $0.remedy) }
                            ?? .ok(
                                "\(token.app) has an export token for Apple's metrics, valid until \(token.notAfter.day)."
                            )
                    }
                }
                lines += await CheckLine.of("gateway") {
                    try await GatewayChecks(connection: connection, loop: loop).run()
                }
                lines += await CheckLine.of("channels") {
                    try await ChannelChecks(connection: connection, loop: loop).run()
                }
                return lines
            }
        }
    }
}
