import CarillonPostgres
import CarillonPushQueue
import CarillonText
import FoundationEssentials

extension Command {
    static let migrateUp = Command(
        "migrate up",
        summary: "Install the schema in the database, or upgrade it to this program's version.",
        discussion:
            "If the schema is up to date, it does nothing. Several may run at the same time.",
        options: [.to, .database],
        run: { invocation in
            let target = invocation.settings.countIfAny(.to)
            let (done, others, newest) = try await DatabaseScope.with(invocation) { connection, _ in
                let migrator = Migrator(connection)
                let before = Set(try await migrator.applied())
                let done = try await migrator.up(to: target) { invocation.console.print("Applied \($0.title).") }
                let applied = try await migrator.applied()
                let others = Set(applied).subtracting(before).subtracting(done.map(\.version))
                return (done, Migration.all.filter { others.contains($0.version) }, applied.last ?? 0)
            }
            if let target, newest > target {
                invocation.console.print(
                    "The schema is at version \(newest) already; 'carillon migrate down --to \(target)' goes back."
                )
            } else if !others.isEmpty {
                invocation.console.print("Meanwhile another program applied \(Counted.list(others.map(\.title))).")
            } else if done.isEmpty {
                invocation.console.print("The schema is up to date.")
            }
            return .done
        }
    )

    static let migrateDown = Command(
        "migrate down",
        summary: "Undo the newest migration, or all after --to; --to 0 removes the schema.",
        discussion:
            "Says which rows are deleted, and asks first; --yes agrees. Refuses while workers are alive.",
        options: [.to, .yes, .database],
        run: { invocation in
            let told = { (migration: Migration) in invocation.console.print("Undid \(migration.title).") }
            let done = try await DatabaseScope.with(invocation) { connection, _ in
                let migrator = Migrator(connection)
                let applied = try await migrator.applied()
                let target = invocation.settings.countIfAny(.to) ?? applied.dropLast().last ?? 0
                guard target == 0 || Migration.all.contains(where: { $0.version == target }) else {
                    return try await migrator.down(to: target, told)
                }
                let loss = try await SchemaLoss.of(goingTo: target, from: applied, on: connection)
                if !loss.migrations.isEmpty { try await agree(to: loss, invocation, connection) }
                return try await migrator.down(to: target, told)
            }
            if done.isEmpty { invocation.console.print("There was nothing to undo.") }
            return .done
        }
    )

    private static func agree(
        to loss: SchemaLoss,
        _ invocation: Invocation,
        _ connection: PostgresConnection
    ) async throws {
        let workers = try await LiveWorkers.names(on: connection)
        guard workers.isEmpty else {
            throw CommandError(
                .failed,
                "\(Counted.text(Int64(workers.count), "worker is", "workers are")) still alive: "
                    + "\(workers.prefix(3).joined(separator: ", ")).",
                hint: "Stop all workers first, by SIGTERM. 'carillon status' lists them."
            )
        }
        let tables = loss.tables.map { "\($0.name) (\(Counted.text($0.rows, "row")))" }
        let roles = loss.isolatedRoles
        let isolated =
            roles.isEmpty
            ? ""
            : " \(Counted.list(roles)), limited to an app by isolate_app, \(roles.count == 1 ? "loses" : "lose") access "
                + "until 'carillon migrate up'."
        try Confirmation(invocation: invocation).obtain(
            "Undoing \(Counted.list(loss.migrations.map(\.title))) "
                + (tables.isEmpty ? "deletes no rows." : "deletes \(Counted.list(tables)).") + isolated
        )
    }

    static let migrateStatus = Command(
        "migrate status",
        summary: "List the migrations; exits with 78 if this program needs another schema.",
        options: [.json, .database],
        run: { invocation in
            let (states, problem) = try await DatabaseScope.with(invocation) { connection, _ in
                let states = try await Migrator(connection).status()
                do {
                    try await SchemaCheck.run(on: connection)
                    return (states, SchemaError?.none)
                } catch let error as SchemaError {
                    return (states, error)
                }
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(json: states.json)
            } else {
                let table = TextTable(
                    states,
                    .right("VERSION") { String($0.version) },
                    .left("NAME") { $0.name },
                    .left("CONDITION") { "\($0.condition)" },
                    .left("APPLIED") { $0.day ?? "-" }
                )
                invocation.console.print(table)
            }
            if let problem { throw problem }
            return .done
        }
    )

    static let migrateSQL = Command(
        "migrate sql",
        summary: "Print the migrations as SQL, for psql and for other migration tools.",
        options: [.after, .to],
        examples: ["carillon migrate sql | psql", "carillon migrate sql --after 12"],
        run: { invocation in
            let after = invocation.settings.countIfAny(.after) ?? 0
            invocation.console.output.write(try Migrator.sql(after: after, to: invocation.settings.countIfAny(.to)))
            return .done
        }
    )
}

extension Migrator {
    fileprivate func applied() async throws -> [Int] {
        try await status().filter { $0.condition != .pending }.map(\.version)
    }
}

extension MigrationState: JSONConvertible {
    fileprivate var day: String? { appliedAt.map(TimeText.day) }

    var json: JSONValue {
        ["version": version, "name": name, "condition": "\(condition)", "applied_at": day]
    }
}
