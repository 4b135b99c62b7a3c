import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText
import FoundationEssentials

extension Command {
    static let migrateUp = Command(
        "migrate up",
        roles: [],
        summary: "Install the schema in the database, or upgrade it to this program's version.",
        discussion:
            "With the last migration, all functions, views and rights are applied; functions that the program no longer has are "
            + "dropped and listed. If the schema is up to date, it does nothing. Several machines may run it at the same time.",
        options: [.toVersion, .database],
        run: { invocation in
            let target = invocation.settings.countIfAny(.toVersion)
            let (changes, others, newest) = try await DatabaseScope.with(invocation) { connection, _ in
                let migrator = Migrator(connection)
                let before = Set(try await migrator.applied())
                var changes: [SchemaChange] = []
                let done = try await migrator.up(to: target) { change in
                    changes.append(change)
                    change.sentences.forEach(invocation.console.print)
                }
                let applied = try await migrator.applied()
                let others = Set(applied).subtracting(before).subtracting(done.map(\.version))
                return (changes, Migration.all.filter { others.contains($0.version) }, applied.last ?? 0)
            }
            if let target, newest > target {
                invocation.console.print(
                    "The schema is at version \(newest) already; 'carillon migrate down --to-version \(target)' goes back."
                )
            } else if !others.isEmpty {
                invocation.console.print("Meanwhile another program applied \(Counted.list(others.map(\.title))).")
            } else if changes.isEmpty {
                invocation.console.print("The schema is up to date.")
            }
            return .done
        }
    )

    static let migrateDown = Command(
        "migrate down",
        roles: [],
        summary: "Undo the newest migration, or all after --to-version; --to-version 0 removes the schema.",
        discussion:
            "Also removes all functions, views and rights: afterwards, run 'carillon migrate up' with the version that you want to use. "
            + "Says which rows are deleted, and asks first, unless --yes is given. Refuses while a worker has a lease.",
        options: [.toVersion, .yes, .database],
        run: { invocation in
            var isDone = false
            let told = { (change: SchemaChange) in
                isDone = true
                change.sentences.forEach(invocation.console.print)
            }
            _ = try await DatabaseScope.with(invocation) { connection, _ in
                let migrator = Migrator(connection)
                let applied = try await migrator.applied()
                let target = invocation.settings.countIfAny(.toVersion) ?? applied.dropLast().last ?? 0
                guard target == 0 || Migration.all.contains(where: { $0.version == target }) else {
                    return try await migrator.down(to: target, told)
                }
                let loss = try await SchemaLoss.of(goingTo: target, from: applied, on: connection)
                let routines = try await migrator.routineStatus()
                if !loss.migrations.isEmpty || routines.condition != .pending {
                    try await agree(to: loss, invocation, connection)
                }
                return try await migrator.down(to: target, told)
            }
            if !isDone { invocation.console.print("There was nothing to undo.") }
            return .done
        }
    )

    private static func agree(
        to loss: SchemaLoss,
        _ invocation: Invocation,
        _ connection: PostgresConnection
    ) async throws {
        let workers = try await LeaseHolders.names(on: connection)
        guard workers.isEmpty else {
            throw CommandError(
                .failed,
                "\(Counted.text(Int64(workers.count), "worker")) may still be running: "
                    + "\(workers.prefix(3).joined(separator: ", ")).",
                hint: "Stop all workers first, with SIGTERM. One that was killed counts until its lease expires. "
                    + "'carillon status' lists them."
            )
        }
        let tables = loss.tables.map { "\($0.name) (\(Counted.text($0.rows, "row")))" }
        let roles = loss.isolatedRoles
        let isolated =
            roles.isEmpty
            ? ""
            : " \(Counted.list(roles)), isolated by isolate_app, \(roles.count == 1 ? "loses" : "lose") access "
                + "until 'carillon migrate up'."
        let what =
            loss.migrations.isEmpty
            ? "Removing the functions, views and rights" : "Undoing \(Counted.list(loss.migrations.map(\.title)))"
        try Confirmation(invocation: invocation).obtain(
            "\(what) "
                + (tables.isEmpty ? "deletes no rows." : "deletes \(Counted.list(tables)).") + isolated
        )
    }

    static let migrateStatus = Command(
        "migrate status",
        roles: ["carillon_app", "carillon_reader", "carillon_operator", "carillon_worker"],
        summary: "List the migrations; exits with 78 if this program needs another schema.",
        options: [.json, .database],
        run: { invocation in
            let (states, routines, problem) = try await DatabaseScope.with(invocation) { connection, _ in
                let migrator = Migrator(connection)
                let (states, routines) = (try await migrator.status(), try await migrator.routineStatus())
                do {
                    try await SchemaCheck.run(on: connection)
                    return (states, routines, SchemaError?.none)
                } catch let error as SchemaError {
                    return (states, routines, error)
                }
            }
            invocation.show(states.json) { console in
                let table = TextTable(
                    states.map(\.line) + [routines.line],
                    .right("VERSION") { $0.version },
                    .left("NAME") { $0.name },
                    .left("CONDITION") { "\($0.condition)" },
                    .left("APPLIED") { $0.appliedAt?.day ?? "-" }
                )
                console.print(table)
            }
            if let problem { throw problem }
            return .done
        }
    )

    static let migrateSQL = Command(
        "migrate sql",
        roles: [],
        summary: "Print the migrations as SQL, for psql and for other migration tools.",
        discussion: "The functions, views and rights follow the last migration, unless --to-version ends before it.",
        options: [.after, .toVersion],
        examples: ["carillon migrate sql | psql", "carillon migrate sql --after 7"],
        run: { invocation in
            let after = invocation.settings.countIfAny(.after) ?? 0
            invocation.console.output.write(
                try Migrator.sql(after: after, to: invocation.settings.countIfAny(.toVersion))
            )
            return .done
        }
    )
}

extension Migrator {
    fileprivate func applied() async throws -> [Int] {
        try await status().filter { $0.condition != .pending }.map(\.version)
    }
}

extension SchemaChange {
    fileprivate var sentences: [String] {
        switch self {
        case .applied(let migration): ["Applied \(migration.title)."]
        case .undone(let migration): ["Undid \(migration.title)."]
        case .routines(let release, let dropped):
            ["Applied the functions, views and rights of \(release)."] + dropped.map { "Dropped \($0)." }
        case .view(let name): ["Replaced the view carillon.\(name)."]
        case .withoutRoutines: ["Removed the functions, views and rights."]
        }
    }
}

private struct StatusLine {
    let version: String
    let name: String
    let condition: MigrationState.Condition
    let appliedAt: Moment?
}

extension RoutineStatus {
    fileprivate var line: StatusLine {
        StatusLine(version: "\(release)", name: "functions, views, rights", condition: condition, appliedAt: appliedAt)
    }
}

extension MigrationState: JSONConvertible {
    fileprivate var line: StatusLine {
        StatusLine(version: String(version), name: name, condition: condition, appliedAt: appliedAt)
    }

    var json: JSONValue {
        ["version": version, "name": name, "condition": "\(condition)", "applied_at": appliedAt]
    }
}
