import CarillonPostgres
import CarillonText

extension Command {
    static let check = Command(
        "check",
        roles: ["carillon_worker"],
        summary: "Check everything that a worker needs, and say how to fix what is wrong.",
        discussion: """
            Checks the database, migrations, rights, isolation, query plans, clock, autovacuum, locks, workers, history,
            credentials and their topics, and apps that are paused or held or whose pushes fail. Also checks whether each gateway,
            and the channel service of apps with channels, is reachable and trusted. Sends nothing and writes nothing. Run it with
            the login of the workers.

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
            let findings = await findings(invocation)
            if invocation.settings.isOn(.json) {
                let result: JSONValue = ["findings": findings]
                invocation.console.print(json: result.cleaned(by: invocation.console.redactor))
            } else {
                for finding in findings {
                    let line = finding.line(for: invocation.console.output)
                    invocation.console.print(invocation.console.redactor.clean(line))
                }
            }
            let failures = findings.filter { $0.condition == .failed }.map(\.status)
            // Problems that somebody must fix come before problems that may resolve themselves.
            return failures.first { $0 == .configuration } ?? failures.first { $0 == .unavailable } ?? failures.first
                ?? .done
        }
    )

    private static func findings(_ invocation: Invocation) async -> [Finding] {
        let databases = invocation.settings.databases
        if databases.count == 1 { return await findings(invocation, on: databases[0]) }
        var findings: [Finding] = []
        for (label, database) in zip(DatabaseLabel.of(databases.map(\.text)), databases) {
            findings += await Self.findings(invocation, on: database).map { $0.about(label) }
        }
        return findings
    }

    private static func findings(_ invocation: Invocation, on database: DatabaseSetting) async -> [Finding] {
        await Finding.of("database") {
            // A check that meets a lock reports its holder instead of waiting.
            let settings = SessionSettings.unhurried.with(["lock_timeout": "2s"])
            return try await DatabaseScope.with(
                invocation,
                to: .any,
                database: database.source,
                settings: settings
            ) { connection, loop in
                let database = await DatabaseChecks(connection: connection).run()
                guard database.allSatisfy({ $0.subject != "migrations" || $0.condition == .ok }) else {
                    return database
                }
                return database
                    + (await Finding.of("credential") { try await CredentialChecks(connection: connection).run() })
                    + (await Finding.of("app") { try await AppChecks(connection: connection).run() })
                    + (await Finding.of("gateway") { try await GatewayChecks(connection: connection, loop: loop).run() })
                    + (await Finding.of("channels") {
                        try await ChannelChecks(connection: connection, loop: loop).run()
                    })
            }
        }
    }
}
