import IO
import Postgres

extension Command {
    static let check = Command(
        "check",
        summary: "Look at everything that a worker needs, and say how to mend what is wrong.",
        discussion:
            "The database, migrations, roles and grants, plans, clock, autovacuum and what holds it back, history, each credential "
            + "and whether it is for its apps' topics, apps that are paused or held, and whether each gateway can be "
            + "reached and trusted. Nothing is sent and nothing is written. A line each: ok, warning or failed. Run "
            + "it as the user that workers connect as. Ends with 0 when nothing has failed, 78 when something must be "
            + "changed, 69 when the database or a gateway cannot be reached.",
        options: [.json, .databases],
        examples: [
            "carillon check", "carillon check --json | jq -r '.findings[] | select(.condition != \"ok\").remedy'",
        ],
        run: { invocation in
            let findings = await findings(invocation)
            if invocation.settings.isOn(.json) {
                let text = JSONValue.object([("findings", .array(findings.map(\.json)))])
                invocation.console.print(text.cleaned(by: invocation.console.redactor))
            } else {
                for finding in findings {
                    let line = finding.line(for: invocation.console.output)
                    invocation.console.print(invocation.console.redactor.clean(line))
                }
            }
            let failures = findings.filter { $0.condition == .failed }.map(\.status)
            // What somebody has to change comes before what may come back by itself.
            return failures.first { $0 == .configuration } ?? failures.first { $0 == .unavailable } ?? failures.first
                ?? .done
        }
    )

    private static func findings(_ invocation: Invocation) async -> [Finding] {
        let databases = invocation.settings.texts(.databases)
        if databases.count < 2 { return await findings(invocation, on: databases.first ?? "") }
        var findings: [Finding] = []
        for (label, database) in zip(DatabaseLabel.of(databases), databases) {
            findings += await Self.findings(invocation, on: database).map { $0.about(label) }
        }
        return findings
    }

    private static func findings(_ invocation: Invocation, on database: String) async -> [Finding] {
        do {
            return try await DatabaseScope.with(invocation, to: .any, database: database) { connection, loop in
                let database = await DatabaseChecks(connection: connection).run()
                guard database.allSatisfy({ $0.subject != "migrations" || $0.condition == .ok }) else {
                    return database
                }
                let credentials = await CredentialChecks(connection: connection).run()
                let apps = await AppChecks(connection: connection).run()
                return database + credentials + apps + (await GatewayChecks(connection: connection, loop: loop).run())
            }
        } catch {
            return [.failed("database", error)]
        }
    }
}
